// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.ByteSize;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.natives.HugePages;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.AllocationListener;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One page-aligned region of off-heap Arrow memory, zeroed and so touched once at the start: the first touch of a page costs ten times a
 * copy, and never happens on the hot path. Pools are cut from it, and a transfer engine registers it whole. It can lie in a file that other
 * processes of the machine map for reading.
 *
 * <p>Ownership: the caller owes one {@link #close()}. The memory itself goes when the last pool, lease and {@link #retain() hold} on it is
 * gone too, so that no late reader ever touches freed memory. Threading: safe for all threads.
 */
public final class MemoryRegion implements AutoCloseable {
    /** Alignment of the region, and of everything that is cut from it. */
    public static final int PAGE_BYTES = 4096;

    private static final Logger LOG = LoggerFactory.getLogger(MemoryRegion.class);
    private static final Path MOUNTS = Path.of("/proc/self/mounts");
    /** One part of so many may be lost to the rest of the last huge page. */
    private static final int MAX_WASTE = 8;

    private static final long TOUCH_BYTES_A_THREAD = 64L << 20;
    private static final int MAX_TOUCH_THREADS = 16;

    private final Runnable free;
    private final @Nullable SharedFile shared;
    private final long address;
    private final long bytes;
    private final List<long[]> claims = new ArrayList<>();
    /** The owner until close, each pool, each retain. */
    private int holds = 1;

    private int retains;
    private boolean closed;

    private MemoryRegion(long address, long bytes, @Nullable SharedFile shared, Runnable free) {
        this.address = address;
        this.bytes = bytes;
        this.shared = shared;
        this.free = free;
    }

    /**
     * Allocates and touches a region.
     *
     * @param bytes at least one page; rounded up to whole pages
     * @throws MooncakeException CONFIGURATION when it exceeds the memory of the machine or of the container, both values named; EXHAUSTED
     *     when the system refuses it
     */
    public static MemoryRegion allocate(long bytes) {
        return allocate(bytes, MemoryLimits.ofThisProcess());
    }

    /**
     * Allocates a region in a file below {@code folder}, so that other processes of this machine can map it for reading.
     *
     * @param bytes at least one page; rounded up to whole pages
     * @param folder a memory file system such as {@link SharedFile#DEFAULT_FOLDER}
     * @throws MooncakeException CONFIGURATION and EXHAUSTED as {@link #allocate(long)}; EXHAUSTED too when the folder has no room
     */
    public static MemoryRegion allocateShared(long bytes, Path folder) {
        requireFits(bytes, MemoryLimits.ofThisProcess());
        // What processes that were killed left behind takes room that this one may need.
        SharedFile.removeOrphans(folder);
        SharedFile file = SharedFile.create(folder, Math.addExact(bytes, PAGE_BYTES - 1) & -PAGE_BYTES);
        MemoryRegion region = new MemoryRegion(file.address(), file.bytes(), file, file::close);
        region.touch();
        return region;
    }

    /**
     * Allocates a region in huge pages, where a mount of hugetlbfs can be written and the machine has enough of its pages free, and one more for
     * what an engine tells its peers about it. A mount whose pages would waste more than an eighth is passed over. The region lies in a file,
     * as one of {@link #allocateShared} does.
     *
     * @return empty where there are none
     * @throws MooncakeException CONFIGURATION and EXHAUSTED as {@link #allocate(long)}
     */
    public static Optional<MemoryRegion> allocateInHugePages(long bytes) {
        requireFits(bytes, MemoryLimits.ofThisProcess());
        for (Path mount : hugePageMounts(bytes)) {
            try {
                return Optional.of(allocateShared(bytes, mount));
            } catch (MooncakeException e) {
                LOG.warn("no huge pages of {}: {}", mount, e.getMessage());
            }
        }
        return Optional.empty();
    }

    private static List<Path> hugePageMounts(long bytes) {
        List<Path> mounts = new ArrayList<>();
        try {
            for (String line : NativeBridge.available() ? Files.readAllLines(MOUNTS) : List.<String>of()) {
                String[] fields = line.split(" ", 4);
                if (fields.length == 4 && fields[2].equals("hugetlbfs")) {
                    Path mount = Path.of(fields[1]);
                    if (SharedFile.obstacle(mount, bytes).isEmpty() && hasHugePages(mount, bytes)) {
                        mounts.add(mount);
                    }
                }
            }
        } catch (IOException | InvalidPathException e) {
            LOG.debug("no list of mounts, so no huge pages", e);
        }
        return mounts;
    }

    private static boolean hasHugePages(Path mount, long bytes) throws IOException {
        long pageBytes = Files.getFileStore(mount).getBlockSize();
        long pages = bytes / pageBytes + (bytes % pageBytes == 0 ? 0 : 1);
        return pages * pageBytes - bytes <= bytes / MAX_WASTE
                && HugePages.pools().stream().anyMatch(pool -> pool.pageBytes() == pageBytes && pool.free() > pages);
    }

    static MemoryRegion allocate(long bytes, MemoryLimits limits) {
        requireFits(bytes, limits);
        long rounded = Math.addExact(bytes, PAGE_BYTES - 1) & -PAGE_BYTES;
        long padded = Math.addExact(rounded, PAGE_BYTES);
        // Exact rounding: Arrow would otherwise take the next power of two.
        RootAllocator allocator = new RootAllocator(AllocationListener.NOOP, padded, size -> size);
        ArrowBuf memory;
        try {
            memory = allocator.buffer(padded);
        } catch (OutOfMemoryError | RuntimeException e) {
            allocator.close();
            throw new MooncakeException(
                    Code.EXHAUSTED, "region bytes: " + bytes + " (expected: what the system has free)", e);
        }
        long aligned = (memory.memoryAddress() + PAGE_BYTES - 1) & -PAGE_BYTES;
        MemoryRegion region = new MemoryRegion(aligned, rounded, null, () -> {
            memory.close();
            allocator.close();
        });
        region.touch();
        return region;
    }

    private static void requireFits(long bytes, MemoryLimits limits) {
        if (bytes < PAGE_BYTES) {
            throw MooncakeException.invalid("region bytes", bytes, "at least " + PAGE_BYTES);
        }
        if (bytes > limits.bytes()) {
            throw new MooncakeException(
                    Code.CONFIGURATION,
                    "region bytes: " + bytes + " = " + ByteSize.format(bytes) + " (expected: at most " + limits.bytes()
                            + " = " + ByteSize.format(limits.bytes()) + ", " + limits.origin() + ")");
        }
    }

    /** Address of the first byte, page-aligned. */
    public long address() {
        return address;
    }

    /** Size, whole pages. */
    public long bytes() {
        return bytes;
    }

    /** The file that other processes map, or null when the memory is this process's own. It belongs to the region. */
    public @Nullable SharedFile sharedFile() {
        return shared;
    }

    /**
     * Keeps the memory mapped until {@link #release()}, also beyond {@link #close()}: for engines with transfers in flight.
     *
     * @throws MooncakeException ILLEGAL_STATE when the memory is gone
     */
    public synchronized void retain() {
        if (holds == 0) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "region: freed (expected: open)");
        }
        holds++;
        retains++;
    }

    /** Ends one {@link #retain()}. */
    public synchronized void release() {
        if (retains == 0) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "region: released more often than retained");
        }
        retains--;
        drop();
    }

    /** Claims a range for one pool, retaining the region. */
    synchronized void claim(long offset, long length) {
        if (closed) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "region: closed (expected: open)");
        }
        if (offset < 0 || offset % PAGE_BYTES != 0) {
            throw MooncakeException.invalid("pool offset", offset, "a multiple of " + PAGE_BYTES + ", at least 0");
        }
        if (length < 1 || length > bytes - offset) {
            throw MooncakeException.invalid(
                    "pool bytes", length, "1.." + (bytes - offset) + " behind offset " + offset);
        }
        for (long[] claim : claims) {
            if (offset < claim[0] + claim[1] && claim[0] < offset + length) {
                throw MooncakeException.invalid(
                        "pool range", offset + "+" + length, "no overlap with " + claim[0] + "+" + claim[1]);
            }
        }
        claims.add(new long[] {offset, length});
        holds++;
    }

    /** Ends a {@link #claim}. */
    synchronized void unclaim(long offset) {
        claims.removeIf(claim -> claim[0] == offset);
        drop();
    }

    /** Frees the memory, at once or with the last pool, lease or hold on it. Idempotent. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            drop();
        }
    }

    private void drop() {
        if (--holds == 0) {
            free.run();
        }
    }

    /** Zeroes all of it, in parallel: page faults are served by the touching core. */
    private void touch() {
        long wanted = Math.max(1, bytes / TOUCH_BYTES_A_THREAD);
        int threads = (int) Math.min(wanted, Math.min(Runtime.getRuntime().availableProcessors(), MAX_TOUCH_THREADS));
        long share = ((bytes / threads) + PAGE_BYTES - 1) & -PAGE_BYTES;
        List<Thread> others = new ArrayList<>();
        for (int i = 1; i < threads; i++) {
            long from = i * share;
            Thread thread = new Thread(() -> zero(from, share), "mooncake-touch-" + i);
            thread.start();
            others.add(thread);
        }
        zero(0, share);
        boolean interrupted = false;
        for (Thread thread : others) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void zero(long from, long length) {
        MemoryUtil.setMemory(address + from, Math.max(0, Math.min(length, bytes - from)), (byte) 0);
    }
}
