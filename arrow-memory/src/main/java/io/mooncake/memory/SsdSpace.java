// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import com.sun.nio.file.ExtendedOpenOption;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockArena;
import io.mooncake.memory.ssd.DiskSpace;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The SSD tier: one file without a name, allocated whole, read and written by direct I/O where the file system takes it. What is in it ends with the process;
 * blocks that have a name and outlive a restart are the business of {@code io.mooncake.memory.ssd}.
 *
 * <p>Reads and writes run on threads of the tier: an interrupt closes the channel under the thread that it meets there, so no thread of a
 * caller may be the one. An interrupted caller waits to the end all the same, since the device has its memory until then, and stays
 * interrupted.
 */
final class SsdSpace extends TierSpace {
    private static final Logger LOG = LoggerFactory.getLogger(SsdSpace.class);
    private static final int PIECE_BYTES = 8 << 20;
    private static final int MAX_THREADS = 4;
    private static final int IDLE_SECONDS = 10;

    private final Path folder;
    private final FileChannel file;
    /** To direct I/O; empty with it. */
    private final String obstacle;

    private final ThreadPoolExecutor threads;

    private SsdSpace(Path folder, FileChannel file, String obstacle, long bytes) {
        super(MemoryTier.SSD, new BlockArena("SSD", 0, bytes));
        this.folder = folder;
        this.file = file;
        this.obstacle = obstacle;
        threads = new ThreadPoolExecutor(
                MAX_THREADS, MAX_THREADS, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
                    Thread thread = new Thread(work, "mooncake-ssd-tier");
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true);
    }

    /**
     * Makes the file in {@code folder}, all of it allocated, so that no move ever meets a full disk.
     *
     * @throws MooncakeException CONFIGURATION when the folder is missing, can't be written or has not got that many bytes below {@link
     *     DiskSpace#MAX_USE_PERCENT} of its file system
     */
    static SsdSpace open(Path folder, long bytes) {
        if (!Files.isDirectory(folder)) {
            throw new MooncakeException(Code.CONFIGURATION, "ssdPath: " + folder + " (expected: a directory)");
        }
        try {
            long room = DiskSpace.room(Files.getFileStore(folder), DiskSpace.MAX_USE_PERCENT);
            if (bytes > room) {
                throw new MooncakeException(
                        Code.CONFIGURATION,
                        "ssdBytes: " + bytes + " (expected: at most " + room + ", what " + folder + " has free below "
                                + DiskSpace.MAX_USE_PERCENT + " % of its file system)");
            }
            return make(folder, bytes);
        } catch (IOException e) {
            throw new MooncakeException(
                    Code.CONFIGURATION,
                    "ssdPath: " + folder + ": " + e + " (expected: a directory to write in, with room for " + bytes
                            + " bytes)",
                    e);
        }
    }

    private static SsdSpace make(Path folder, long bytes) throws IOException {
        Path name = Files.createTempFile(folder, "mooncake-", ".tier");
        FileChannel file = null;
        try {
            String obstacle = DiskSpace.directObstacle(name, Files.getFileStore(folder));
            file = obstacle.isEmpty() ? open(name, ExtendedOpenOption.DIRECT) : open(name);
            DiskSpace.allocate(name, bytes, file::write);
            // The open file stays; its space is back when this process ends, however it ends.
            Files.delete(name);
            SsdSpace space = new SsdSpace(folder, file, obstacle, bytes);
            if (!obstacle.isEmpty()) {
                LOG.warn("{} has no direct I/O ({}): the SSD tier goes through the page cache", folder, obstacle);
            }
            return space;
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            if (file != null) {
                file.close();
            }
            Files.deleteIfExists(name);
            throw e;
        }
    }

    private static FileChannel open(Path name, OpenOption... more) throws IOException {
        Set<OpenOption> options = new HashSet<>(Set.of(more));
        options.add(StandardOpenOption.READ);
        options.add(StandardOpenOption.WRITE);
        return FileChannel.open(name, options);
    }

    String describe() {
        return "a file in " + folder + (obstacle.isEmpty() ? ", direct I/O" : ", WITHOUT direct I/O: " + obstacle);
    }

    @Override
    void read(long address, long hostAddress, long bytes) {
        run("read", address, bytes, () -> {
            long pages = wholePages(bytes);
            for (long done = 0; done < pages; ) {
                ByteBuffer piece = piece(hostAddress, done, pages);
                int count = file.read(piece, address + done);
                if (count <= 0) {
                    throw new IOException("ends after " + done + " of " + pages + " bytes");
                }
                done += count;
            }
        });
    }

    @Override
    void write(long hostAddress, long address, long bytes) {
        run("write", address, bytes, () -> {
            long pages = wholePages(bytes);
            for (long done = 0; done < pages; ) {
                done += file.write(piece(hostAddress, done, pages), address + done);
            }
        });
    }

    private interface Work {
        void run() throws IOException;
    }

    private void run(String what, long address, long bytes, Work work) {
        Future<?> end = threads.submit(() -> {
            work.run();
            return true;
        });
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    end.get();
                    return;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (ExecutionException e) {
            throw failed(what, address, bytes, e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static ByteBuffer piece(long hostAddress, long done, long bytes) {
        return MemoryUtil.directBuffer(hostAddress + done, (int) Math.min(PIECE_BYTES, bytes - done));
    }

    /** Blocks of all tiers are whole pages, so there is room for the rest of the last one. */
    private static long wholePages(long bytes) {
        return (bytes + BlockArena.PAGE_BYTES - 1) & -BlockArena.PAGE_BYTES;
    }

    private MooncakeException failed(String what, long address, long bytes, @Nullable Throwable e) {
        return new MooncakeException(
                Code.EXHAUSTED,
                "SSD " + what + " of " + bytes + " bytes at " + address + " in " + folder + ": " + e
                        + " (expected: a device that works and has room)",
                e);
    }

    @Override
    public void close() {
        // Whoever reads or writes holds a buffer, and the tier is closed after the last of them.
        threads.shutdown();
        try {
            file.close();
        } catch (IOException e) {
            throw new MooncakeException(Code.INTERNAL, "ssdPath: " + folder + ": close: " + e.getMessage(), e);
        }
    }
}
