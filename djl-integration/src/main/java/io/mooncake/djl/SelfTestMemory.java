// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.memory.KvIdentity;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/**
 * Remembers, in a folder of small files, which models passed the self-test with which engine, threads and processor, so that it runs once a
 * machine. The folder may vanish at any time; then it runs again. Only passes are remembered.
 */
final class SelfTestMemory {
    private final Path folder;

    SelfTestMemory(Path folder) {
        this.folder = folder;
    }

    /** {@code selftest} in the folder named by the system property {@code mooncake.cache}, else in {@code ~/.cache/mooncake}. */
    static SelfTestMemory standard() {
        String configured = System.getProperty("mooncake.cache");
        Path cache = configured == null
                ? Path.of(System.getProperty("user.home", "."), ".cache", "mooncake")
                : Path.of(configured);
        return new SelfTestMemory(cache.resolve("selftest"));
    }

    /** Whether this identity is known to pass. The file must say so in full: a name alone could be cut short. */
    boolean passed(KvIdentity identity) {
        try {
            return Files.isRegularFile(file(identity))
                    && Files.readString(file(identity), StandardCharsets.UTF_8).startsWith(text(identity));
        } catch (IOException e) {
            return false;
        }
    }

    /** Remembers a pass. @throws UncheckedIOException when the folder cannot be written */
    void remember(KvIdentity identity, double largestDifference, double seconds) {
        String line = String.format(Locale.ROOT, "difference=%.3g%nseconds=%.1f%n", largestDifference, seconds);
        try {
            Files.createDirectories(folder);
            Path draft = Files.createTempFile(folder, "draft", ".tmp");
            Files.writeString(draft, text(identity) + line);
            try {
                Files.move(draft, file(identity), StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) {
                Files.move(draft, file(identity), StandardCopyOption.REPLACE_EXISTING);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path file(KvIdentity identity) {
        return folder.resolve(identity.modelDigest().substring(0, 16) + "-"
                + Integer.toHexString(text(identity).hashCode()) + ".txt");
    }

    private static String text(KvIdentity identity) {
        return "passed=" + identity + "\n";
    }
}
