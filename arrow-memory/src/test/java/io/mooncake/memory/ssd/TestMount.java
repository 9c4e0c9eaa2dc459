// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A file system of a test's own; only root can mount one, others skip the test. */
public final class TestMount implements AutoCloseable {
    private final Path folder;

    private TestMount(Path folder) {
        this.folder = folder;
    }

    /** Mounts a file system of {@code type} below {@code parent}. */
    public static TestMount of(Path parent, String type, String options) throws IOException {
        Path folder = Files.createDirectory(parent.resolve(type));
        String said = run("mount", "-t", type, "-o", options, type, folder.toString());
        if (said != null) {
            abort("SKIPPED: NO SMALL FILE SYSTEM WAS TESTED. mount -t " + type + ": " + said);
        }
        return new TestMount(folder);
    }

    /** A file system of its own in the file {@code image}, made anew there when {@code bytes} is not 0. */
    public static TestMount ofImage(Path image, long bytes, Path folder) throws IOException {
        if (bytes > 0) {
            try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw")) {
                file.setLength(bytes);
            }
            String said =
                    run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image.toString());
            if (said != null) {
                abort("SKIPPED: NO POWER CUT WAS TESTED ON A FILE SYSTEM. mkfs.ext4: " + said);
            }
        }
        Files.createDirectories(folder);
        // Nothing is committed unless somebody syncs.
        String said = run("mount", "-t", "ext4", "-o", "loop,commit=300", image.toString(), folder.toString());
        if (said != null) {
            abort("SKIPPED: NO POWER CUT WAS TESTED ON A FILE SYSTEM. mount -o loop: " + said);
        }
        return new TestMount(folder);
    }

    /** Where it is. */
    public Path folder() {
        return folder;
    }

    /** Writes a file until its file system is full. */
    public static void fill(Path ballast) {
        byte[] bytes = new byte[64 << 10];
        try (OutputStream out = Files.newOutputStream(ballast)) {
            while (true) {
                out.write(bytes);
            }
        } catch (IOException e) {
            // No space left.
        }
    }

    /** Changes its options. */
    public void remount(String options) {
        String said = run("mount", "-o", "remount," + options, folder.toString());
        if (said != null) {
            throw new AssertionError("remount " + options + ": " + said);
        }
    }

    /** Makes an ext4 of {@link #ofImage} read-only while its files are open, as an error of the device's does. */
    public void fail() throws IOException {
        remount("errors=remount-ro");
        for (String line : Files.readAllLines(Path.of("/proc/self/mounts"))) {
            String[] fields = line.split(" ", 3);
            if (fields[1].equals(folder.toString())) {
                Path trigger = Path.of(
                        "/sys/fs/ext4", String.valueOf(Path.of(fields[0]).getFileName()), "trigger_fs_error");
                if (!Files.isWritable(trigger)) {
                    abort("SKIPPED: NO FILE SYSTEM THAT BECOMES READ-ONLY WAS TESTED. " + trigger + " is needed");
                }
                Files.writeString(trigger, "1");
            }
        }
    }

    /** Repairs the file system in {@code image}, which is not mounted. */
    public static void repair(Path image) {
        // 0: nothing to do, 1: it was; what it says of either is not looked at.
        run("e2fsck", "-y", image.toString());
    }

    /** Null when it worked, else what it said. */
    private static String run(String... command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            return process.waitFor(20, TimeUnit.SECONDS) && process.exitValue() == 0 ? null : said + " ";
        } catch (IOException e) {
            return e.getMessage();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "interrupted";
        }
    }

    @Override
    public void close() {
        String said = run("umount", folder.toString());
        if (said != null) {
            run("umount", "-l", folder.toString());
            throw new AssertionError("umount: " + said);
        }
    }
}
