// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import io.mooncake.base.ByteSize;
import io.mooncake.examples.cli.Refusal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The folders in which the nodes of one run keep blocks on disk, one a node, all below one folder of the run that goes at its end. A run that
 * was cut short leaves its folder; the next one with the same parent takes it away.
 *
 * <p>Ownership: the caller owes a close, after the nodes have ended. Threading: any.
 */
public final class SsdFolders implements AutoCloseable {
    private static final String RUN = "mooncake-ssd-";

    /** Held while the run lasts, by whatever way it ends: several may share the parent. */
    private static final String LOCK = "lock";

    /** Runs of this process: to open and close a file's second channel here would drop the lock of the first. */
    private static final Set<Path> OPEN = ConcurrentHashMap.newKeySet();

    /** The tier fills a file system up to this share. */
    private static final double MAX_USE = 0.95;

    /** Written once to see how fast the folder is: as much as some blocks. */
    private static final int PROBE_BYTES = 16 << 20;

    /** Below it, blocks come late or are not written at all. */
    private static final double SLOW_MIB_PER_SECOND = 50;

    private final Path folder;
    private final String capacity;
    private final FileChannel lock;
    private double mibPerSecond;

    private SsdFolders(Path folder, String capacity, FileChannel lock) {
        this.folder = folder;
        this.capacity = capacity;
        this.lock = lock;
    }

    /**
     * Makes the folders, and sees whether there is room for what the nodes may write.
     *
     * @param parent an existing folder that this process may write to
     * @param nodes names of the nodes
     * @param capacity most bytes of each node, for example {@code 1GiB}
     * @throws Refusal naming the folder, what is wrong with it and what was expected
     */
    public static SsdFolders open(Path parent, List<String> nodes, String capacity) {
        if (!Files.isDirectory(parent) || !Files.isWritable(parent)) {
            throw new Refusal("SSD folder: " + parent + (Files.exists(parent) ? "" : " does not exist")
                    + " (expected: an existing folder that this process may write to)");
        }
        try {
            removeLeftovers(parent);
            requireRoom(parent, nodes.size(), capacity);
            SsdFolders made = make(parent, capacity);
            try {
                for (String node : nodes) {
                    Files.createDirectory(made.of(node));
                }
                made.mibPerSecond = probe(made.folder.resolve("probe"));
                return made;
            } catch (IOException e) {
                made.close();
                throw e;
            }
        } catch (IOException | UncheckedIOException e) {
            throw new Refusal("SSD folder: " + parent + ": " + e + " (expected: a folder that takes files)", e);
        }
    }

    private static SsdFolders make(Path parent, String capacity) throws IOException {
        Path folder = Files.createTempDirectory(parent, RUN);
        FileChannel lock = FileChannel.open(folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            if (lock.tryLock() == null) {
                throw new IOException(folder.resolve(LOCK) + " is locked");
            }
        } catch (IOException e) {
            lock.close();
            throw e;
        }
        OPEN.add(folder);
        return new SsdFolders(folder, capacity, lock);
    }

    private static void requireRoom(Path parent, int nodes, String capacity) throws IOException {
        long each = ByteSize.parse("ssd capacity", capacity);
        FileStore store = Files.getFileStore(parent);
        long used = store.getTotalSpace() - store.getUnallocatedSpace();
        long room = (long) ((used + store.getUsableSpace()) * MAX_USE) - used;
        if (room / nodes < each) {
            throw new Refusal(String.format(
                    Locale.ROOT,
                    "SSD folder: %s has room for %s below 95 %% of its file system (expected: %d x %s, one for each node;"
                            + " --ssd FOLDER names a folder on another disk)",
                    parent,
                    ByteSize.format(Math.max(0, room)),
                    nodes,
                    capacity));
        }
    }

    /** MiB a second of one large write that is synced. */
    private static double probe(Path file) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(PROBE_BYTES);
        long start = System.nanoTime();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        } finally {
            Files.deleteIfExists(file);
        }
        return rate(PROBE_BYTES, System.nanoTime() - start);
    }

    static double rate(long bytes, long nanos) {
        return bytes / 1048576.0 * 1e9 / Math.max(1, nanos);
    }

    /** What is to be said of a folder that takes {@code mibPerSecond}; empty when it is fast enough. */
    static String warning(Path folder, double mibPerSecond) {
        return mibPerSecond >= SLOW_MIB_PER_SECOND
                ? ""
                : String.format(
                        Locale.ROOT,
                        "SSD folder %s is slow: %.0f MiB/s written and synced (expected: %.0f or more). Blocks may miss it or come late"
                                + " from it, and checks may break; --ssd FOLDER names another one.",
                        folder,
                        mibPerSecond,
                        SLOW_MIB_PER_SECOND);
    }

    /** The same of this folder. */
    public String warning() {
        return warning(folder, mibPerSecond);
    }

    /** The run's own folder. */
    public Path folder() {
        return folder;
    }

    /** The folder of {@code node}. */
    Path of(String node) {
        return folder.resolve(node);
    }

    /** Most bytes of each node, as given. */
    public String capacity() {
        return capacity;
    }

    /** What runs left here that are over, however they ended. */
    private static void removeLeftovers(Path parent) throws IOException {
        List<Path> runs;
        try (Stream<Path> files = Files.list(parent)) {
            runs = files.filter(file -> file.getFileName().toString().startsWith(RUN) && Files.isDirectory(file))
                    .toList();
        }
        for (Path run : runs) {
            if (!running(run)) {
                delete(run);
            }
        }
    }

    private static boolean running(Path run) throws IOException {
        if (OPEN.contains(run)) {
            return true;
        }
        if (!Files.exists(run.resolve(LOCK))) {
            return false;
        }
        try (FileChannel channel = FileChannel.open(run.resolve(LOCK), StandardOpenOption.WRITE);
                FileLock held = channel.tryLock()) {
            return held == null;
        }
    }

    private static void delete(Path folder) throws IOException {
        List<Path> files;
        try (Stream<Path> walk = Files.walk(folder)) {
            files = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path file : files) {
            Files.deleteIfExists(file);
        }
    }

    /** Deletes the run's folder with all that is in it. What can't be deleted stays until the next run. Idempotent. */
    @Override
    public void close() {
        try {
            if (lock.isOpen()) {
                delete(folder);
                OPEN.remove(folder);
                lock.close();
            }
        } catch (IOException | UncheckedIOException e) {
            System.err.println("SSD folder: " + folder + " could not be deleted: " + e);
        }
    }
}
