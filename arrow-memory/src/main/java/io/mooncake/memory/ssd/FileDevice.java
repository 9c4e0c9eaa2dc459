// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import com.sun.nio.file.ExtendedOpenOption;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder of a file system, locked for one process. Direct I/O where the file system has it; else through the page cache, which is said
 * once.
 */
final class FileDevice implements SsdDevice {
    static final String LOCK = "lock";
    /** Who has it, for people. Not in the lock file: closing any channel to that gives up the lock of the whole process. */
    static final String OWNER = "owner";

    private static final String PREFIX = "kv-";
    private static final Logger LOG = LoggerFactory.getLogger(FileDevice.class);
    /** Folders that this process has open, looked at before the lock file is. */
    private static final Set<Path> OPEN = ConcurrentHashMap.newKeySet();

    private final Path folder;
    private final Path claim;
    private final FileStore store;
    private final FileChannel lockFile;
    private final int maxUsePercent;
    private final boolean direct;
    private final @Nullable FormerStores formers;

    private FileDevice(
            Path folder,
            Path claim,
            FileStore store,
            FileChannel lockFile,
            int maxUsePercent,
            boolean direct,
            @Nullable FormerStores formers) {
        this.folder = folder;
        this.claim = claim;
        this.store = store;
        this.lockFile = lockFile;
        this.maxUsePercent = maxUsePercent;
        this.direct = direct;
        this.formers = formers;
    }

    /** As {@link #open(SsdSettings, FormerStores)}, with no former ones. */
    static FileDevice open(SsdSettings settings) {
        return open(settings, null);
    }

    /**
     * Opens the folder of the settings' identity, making it if it is not there.
     *
     * @param formers what gives room before there is none; null: nothing
     * @throws MooncakeException CONFIGURATION when the path is no folder that can be written, or another process has it open
     */
    static FileDevice open(SsdSettings settings, @Nullable FormerStores formers) {
        Path path = settings.path();
        if (!Files.isDirectory(path) || !Files.isWritable(path)) {
            throw refused(path, "an existing folder that can be written", null);
        }
        Path folder = folder(settings);
        Path claim = null;
        FileChannel lock = null;
        try {
            if (!Files.isDirectory(folder)) {
                Files.createDirectories(folder);
                syncFolder(path);
            }
            Path real = folder.toRealPath();
            if (!OPEN.add(real)) {
                throw openElsewhere(folder);
            }
            claim = real;
            lock = FileChannel.open(
                    folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
            if (!lock(lock)) {
                throw openElsewhere(folder);
            }
            if (!Files.exists(folder.resolve(OWNER)) || isOf(folder, settings.owner())) {
                // Another one's stays: whoever is refused by the index next may not have made it his.
                sign(folder.resolve(OWNER), settings.owner());
            }
            FileStore store = Files.getFileStore(folder);
            // Any file but the lock file.
            String obstacle = DiskSpace.directObstacle(folder.resolve(OWNER), store);
            if (!obstacle.isEmpty()) {
                LOG.warn(
                        "{} has no direct I/O ({}): records go through the page cache, which takes memory and hides damage"
                                + " from the scrubber",
                        folder,
                        obstacle);
            }
            return new FileDevice(folder, real, store, lock, settings.maxUsePercent(), obstacle.isEmpty(), formers);
        } catch (IOException e) {
            giveUp(lock, claim);
            throw refused(folder, "a folder that can be written", e);
        } catch (RuntimeException e) {
            giveUp(lock, claim);
            throw e;
        }
    }

    private static void giveUp(@Nullable FileChannel lock, @Nullable Path claim) {
        closeQuietly(lock);
        if (claim != null) {
            OPEN.remove(claim);
        }
    }

    private static MooncakeException openElsewhere(Path folder) throws IOException {
        Path owner = folder.resolve(OWNER);
        String holder = Files.exists(owner) ? Files.readString(owner).strip() : "which has not said whose it is";
        return new MooncakeException(
                Code.CONFIGURATION,
                "ssd path: " + folder + " is open in another store, " + holder + " (expected: a path for each node)");
    }

    /** The folder of one identity's records. */
    static Path folder(SsdSettings settings) {
        return settings.path().resolve(PREFIX + settings.identityDigest().substring(0, 16));
    }

    /** Whether {@code folder} is one of a store, and {@code owner} opened it last. */
    static boolean isOf(Path folder, String owner) throws IOException {
        Path signed = folder.resolve(OWNER);
        return String.valueOf(folder.getFileName()).startsWith(PREFIX)
                && Files.isRegularFile(signed)
                && Files.readString(signed).startsWith(signature(owner));
    }

    private static String signature(String owner) {
        return "node " + owner + ", process ";
    }

    /** A folder that nobody can open until it is closed. */
    record Claim(Path folder, FileChannel lock) implements AutoCloseable {
        @Override
        public void close() {
            giveUp(lock, folder);
        }
    }

    /** Locks a folder without opening it; null when it is open, here or elsewhere. */
    static @Nullable Claim claim(Path folder) throws IOException {
        Path real = folder.toRealPath();
        if (!OPEN.add(real)) {
            return null;
        }
        FileChannel lock = null;
        try {
            lock = FileChannel.open(folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (lock(lock)) {
                return new Claim(real, lock);
            }
        } catch (IOException e) {
            giveUp(lock, real);
            throw e;
        }
        giveUp(lock, real);
        return null;
    }

    private static MooncakeException refused(Path path, String expected, @Nullable IOException cause) {
        return new MooncakeException(
                Code.CONFIGURATION,
                "ssd path: " + path + (cause == null ? "" : ": " + cause.getMessage()) + " (expected: " + expected
                        + ")",
                cause);
    }

    private static boolean lock(FileChannel channel) throws IOException {
        try {
            FileLock lock = channel.tryLock();
            return lock != null;
        } catch (OverlappingFileLockException e) {
            return false;
        }
    }

    /** For people who wonder who has it; a full disk is no reason to stop. */
    private static void sign(Path file, String owner) {
        try {
            Files.writeString(file, signature(owner) + ProcessHandle.current().pid() + "\n");
        } catch (IOException e) {
            LOG.debug("owner file not written", e);
        }
    }

    @Override
    public List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> String.valueOf(file.getFileName())).toList();
        }
    }

    @Override
    public SsdFile open(String name) throws IOException {
        Set<OpenOption> options = new HashSet<>(Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
        if (direct) {
            options.add(ExtendedOpenOption.DIRECT);
        }
        return new ChannelFile(FileChannel.open(folder.resolve(name), options));
    }

    @Override
    public SsdFile create(String name, long bytes) throws IOException {
        delete(name);
        Path path = folder.resolve(name);
        Files.createFile(path);
        SsdFile file = null;
        try {
            file = open(name);
            DiskSpace.allocate(path, bytes, file::write);
            file.sync();
            syncFolder();
            return file;
        } catch (IOException e) {
            if (file != null) {
                file.close();
            }
            Files.deleteIfExists(path);
            throw e;
        }
    }

    private void syncFolder() throws IOException {
        syncFolder(folder);
    }

    private static void syncFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    @Override
    public void delete(String name) throws IOException {
        if (Files.deleteIfExists(folder.resolve(name))) {
            syncFolder();
        }
    }

    @Override
    public boolean hasRoom(long bytes) throws IOException {
        if (formers != null) {
            formers.makeRoom(bytes, false);
            if (!fits(bytes)) {
                formers.makeRoom(bytes, true);
            }
        }
        return fits(bytes);
    }

    private boolean fits(long bytes) throws IOException {
        return bytes <= DiskSpace.room(store, maxUsePercent);
    }

    @Override
    public boolean direct() {
        return direct;
    }

    @Override
    public void close() {
        giveUp(lockFile, claim);
    }

    private static void closeQuietly(@Nullable FileChannel channel) {
        if (channel == null) {
            return;
        }
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("close failed", e);
        }
    }

    private static final class ChannelFile implements SsdFile {
        private final FileChannel channel;

        ChannelFile(FileChannel channel) {
            this.channel = channel;
        }

        @Override
        public long bytes() throws IOException {
            return channel.size();
        }

        @Override
        public int read(ByteBuffer to, long offset) throws IOException {
            return channel.read(to, offset);
        }

        @Override
        public int write(ByteBuffer from, long offset) throws IOException {
            return channel.write(from, offset);
        }

        @Override
        public void sync() throws IOException {
            channel.force(false);
        }

        @Override
        public void close() {
            closeQuietly(channel);
        }
    }
}
