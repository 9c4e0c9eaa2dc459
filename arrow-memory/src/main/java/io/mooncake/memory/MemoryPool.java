// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockArena;
import io.mooncake.memory.gpu.CudaGpuMemory;
import io.mooncake.memory.gpu.GpuMemory;
import io.mooncake.natives.SharedFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Buffers of any size in three tiers, memory of a GPU, of the host, and an SSD, that may move between them while they are read.
 *
 * <pre>{@code
 * try (MemoryPool pool = MemoryPool.create(0, 8L << 30, Path.of("/var/cache/kv"), 64L << 30)) {
 *     engine.registerMemory(pool.region().address(), pool.region().bytes(), guard); // once, for all buffers
 *     PoolBuffer buffer = pool.allocate(5 << 20, MemoryTier.DRAM);
 *     fill(buffer.arrow());
 *     buffer.seal();
 *     try (BufferLease lease = buffer.lease()) {
 *         read(lease.arrow());
 *     }
 *     pool.migrate(buffer, MemoryTier.SSD);
 *     pool.deallocate(buffer);
 * }
 * }</pre>
 *
 * <p>All memory is taken and touched at the start, and checked against what the machine or the container allows; {@link #plan()} says what it
 * is. The DRAM tier is one region, in huge pages where a mount of hugetlbfs has room, shareable, to be registered with a transfer engine once.
 * How sizes are laid out and what is lost to them: {@link BlockArena}, which is also the data plane: {@link #arena} hands out {@code long}
 * tokens instead of objects, without locks and without allocation.
 *
 * <p>Ownership: the caller owes a {@link #close}, a close for each buffer, and one for each lease. With leak debugging ({@code
 * -Dmooncake.leakDebug=true}) a close that comes too early throws the places where what is still open was opened; without, it logs the
 * number. The memory goes when the last of them has come back. Threading: safe for all threads. Errors: EXHAUSTED when a tier has no room
 * (retryable), INVALID_ARGUMENT for sizes and tiers that can't be, ILLEGAL_STATE for what was deallocated or is in use, CORRUPT for a buffer
 * that the GPU or the SSD did not give back as it went there (counted in {@link #lost}).
 */
public final class MemoryPool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MemoryPool.class);
    /** For calls without a deadline: no other chunk is emptied after it. */
    private static final long MILLIS_FOR_ROOM = 50;

    private static final long LOG_NANOS = 1_000_000_000;
    private static final Duration TIME_TO_COPY = Duration.ofMinutes(1);

    private final Map<MemoryTier, TierSpace> spaces = new EnumMap<>(MemoryTier.class);
    private final MemoryPlan plan;
    private final @Nullable MemoryRegion region;
    private final OpenHandles handles;
    private final AtomicLong ids = new AtomicLong();
    /** Of the DRAM tier, if there is one. */
    final @Nullable Evacuation evacuation;

    private final boolean verified;
    private final LongAdder lost = new LongAdder();
    private final AtomicLong lastLogNanos = new AtomicLong(System.nanoTime() - LOG_NANOS);

    private MemoryPool(
            MemoryPoolOptions options,
            List<TierSpace> opened,
            MemoryPlan plan,
            @Nullable MemoryRegion region,
            boolean verified) {
        opened.forEach(space -> spaces.put(space.tier, space));
        this.plan = plan;
        this.region = region;
        this.verified = verified;
        TierSpace dram = spaces.get(MemoryTier.DRAM);
        evacuation = dram == null ? null : new Evacuation(this, dram);
        handles = new OpenHandles("memory", options.leakDebug(), () -> closeAll(opened));
    }

    /**
     * Creates a pool.
     *
     * @param gpuBytes of memory of the first GPU; 0: no such tier
     * @param cpuBytes of memory of the host; 0: no such tier
     * @param ssdPath directory for the SSD tier's file; null without that tier
     * @param ssdBytes of that file; 0: no such tier
     * @throws MooncakeException INVALID_ARGUMENT for negative sizes; CONFIGURATION when the machine or the container has not that much, there
     *     is no usable GPU, or the directory is none to write in; EXHAUSTED when the system refuses the memory
     */
    public static MemoryPool create(long gpuBytes, long cpuBytes, @Nullable Path ssdPath, long ssdBytes) {
        return create(MemoryPoolOptions.of(gpuBytes, cpuBytes, ssdPath, ssdBytes));
    }

    /** As {@link #create(long, long, Path, long)}, with all that can be chosen. */
    public static MemoryPool create(MemoryPoolOptions options) {
        return create(options, MemoryLimits.ofThisProcess());
    }

    static MemoryPool create(MemoryPoolOptions options, MemoryLimits limits) {
        return create(options, limits, true);
    }

    /** With {@code verified} off nobody looks whether bytes come back as they went, for the test that shows what this is for. */
    static MemoryPool create(MemoryPoolOptions options, MemoryLimits limits, boolean verified) {
        long heapBytes = Runtime.getRuntime().maxMemory();
        MemoryPlan.requireFits(options.cpuBytes(), heapBytes, limits);
        List<TierSpace> opened = new ArrayList<>();
        try {
            String pages = "";
            MemoryRegion region = null;
            if (options.cpuBytes() > 0) {
                region = openRegion(options);
                SharedFile file = region.sharedFile();
                pages = file == null
                        ? "pages of this process"
                        : (options.sharedFolder() == null ? "huge pages, " : "") + "a file in "
                                + file.path().getParent();
                opened.add(openDram(region));
            }
            String gpu = options.gpuBytes() == 0 ? "" : openGpu(options, region, opened);
            SsdSpace ssd = null;
            if (options.ssdBytes() > 0 && options.ssdPath() != null) {
                ssd = SsdSpace.open(options.ssdPath(), options.ssdBytes());
                opened.add(ssd);
            }
            MemoryPlan plan = new MemoryPlan(
                    options.gpuBytes(),
                    gpu,
                    options.cpuBytes(),
                    pages,
                    options.ssdBytes(),
                    ssd == null ? "" : ssd.describe(),
                    heapBytes,
                    opened.stream().mapToLong(TierSpace::heapBytes).sum(),
                    limits.bytes(),
                    limits.origin());
            plan.lines().forEach(line -> LOG.info("memory plan: {}", line));
            return new MemoryPool(options, opened, plan, region, verified);
        } catch (RuntimeException | OutOfMemoryError e) {
            try {
                closeAll(opened);
            } catch (RuntimeException closing) {
                e.addSuppressed(closing);
            }
            throw e;
        }
    }

    private static TierSpace openDram(MemoryRegion region) {
        try {
            return new TierSpace.Dram(region);
        } catch (RuntimeException | OutOfMemoryError e) {
            region.close();
            throw e;
        }
    }

    private static MemoryRegion openRegion(MemoryPoolOptions options) {
        long bytes = options.cpuBytes();
        Path folder = options.sharedFolder();
        if (folder != null) {
            return MemoryRegion.allocateShared(bytes, folder);
        }
        Optional<MemoryRegion> huge = options.hugePages() ? MemoryRegion.allocateInHugePages(bytes) : Optional.empty();
        return huge.orElseGet(() -> MemoryRegion.allocate(bytes));
    }

    private static String openGpu(MemoryPoolOptions options, @Nullable MemoryRegion region, List<TierSpace> opened) {
        GpuMemory given = options.gpu();
        GpuMemory memory = given != null ? given : CudaGpuMemory.open(0);
        boolean made = false;
        try {
            long bytes = options.gpuBytes();
            if (bytes > memory.totalBytes()) {
                throw MooncakeException.invalid(
                        "gpuBytes", bytes, "at most " + memory.totalBytes() + ", " + memory.name());
            }
            boolean pinned = openGpu(memory, bytes, region, given == null ? memory::close : () -> {}, opened);
            made = true;
            return memory.name() + (pinned ? ", copies from and to locked DRAM" : ", copies through locked buffers");
        } finally {
            if (!made && given == null) {
                memory.close();
            }
        }
    }

    /** Adds the tier; whether the DRAM is locked for it. Nothing is left on a device that is not this pool's when it throws. */
    private static boolean openGpu(
            GpuMemory memory, long bytes, @Nullable MemoryRegion region, Runnable whenClosed, List<TierSpace> opened) {
        long allocation = memory.allocate(bytes);
        boolean pinned = false;
        boolean made = false;
        try {
            pinned = region != null && memory.pin(region.address(), region.bytes());
            Runnable unpin = pinned && region != null ? () -> memory.unpin(region.address()) : () -> {};
            opened.add(0, new TierSpace.Gpu(memory, allocation, bytes, () -> {
                unpin.run();
                whenClosed.run();
            }));
            made = true;
            return pinned;
        } finally {
            if (!made) {
                if (pinned && region != null) {
                    memory.unpin(region.address());
                }
                memory.free(allocation);
            }
        }
    }

    // --------------------------------------------------------------------------------------------- allocate, migrate

    /**
     * Allocates a buffer that the caller fills, seals and owes a {@link PoolBuffer#close}.
     *
     * @param size 1 to the tier's bytes
     * @throws MooncakeException EXHAUSTED when the tier has no room, at once, or after {@value #MILLIS_FOR_ROOM} ms of
     *     moving buffers to make some, or of waiting for a thread that does
     */
    public PoolBuffer allocate(long size, MemoryTier tier) {
        TierSpace space = space(tier);
        return opened(space, size, allocate(space, size, Deadline.ofMillis(MILLIS_FOR_ROOM)));
    }

    /** As {@link #allocate(long, MemoryTier)}, waiting until the deadline for room. */
    public PoolBuffer allocate(long size, MemoryTier tier, Deadline deadline) {
        TierSpace space = space(tier);
        return opened(space, size, await(space, size, deadline));
    }

    private long await(TierSpace space, long size, Deadline deadline) {
        long token = allocate(space, size, deadline);
        return token == BlockArena.NONE ? space.arena.allocate(size, deadline) : token;
    }

    private long allocate(TierSpace space, long size, Deadline deadline) {
        long token = space.arena.allocate(size);
        Evacuation room = space.tier == MemoryTier.DRAM ? evacuation : null;
        return token == BlockArena.NONE && room != null ? room.allocate(size, deadline) : token;
    }

    private PoolBuffer opened(TierSpace space, long size, long token) {
        requireRoom(space, size, token);
        PoolBuffer buffer = new PoolBuffer(this, ids.incrementAndGet(), size, new PoolBuffer.Place(space, token));
        space.owners.set(space.arena.slotOf(token), buffer);
        try {
            handles.open(buffer, PoolBuffer.KIND);
        } catch (MooncakeException e) {
            space.arena.free(token);
            throw e;
        }
        return buffer;
    }

    static void requireRoom(TierSpace space, long size, long token) {
        if (token == BlockArena.NONE) {
            throw new MooncakeException(
                    Code.EXHAUSTED,
                    space.tier + " size: " + size + " (expected: what is free of " + space.arena.capacityBytes() + ")");
        }
    }

    /**
     * Gives a buffer back.
     *
     * @throws MooncakeException ILLEGAL_STATE when it was given back before, or is leased, pinned or migrating; it stays as it is then
     */
    public void deallocate(PoolBuffer buffer) {
        requireOwn(buffer);
        synchronized (buffer) { // of two that come at once, one is told that it was given back
            Deadline patience = PoolBuffer.patience();
            while (true) {
                int before = buffer.moves();
                PoolBuffer.Place at = buffer.requirePlace();
                try {
                    at.arena().free(at.token());
                    break;
                } catch (MooncakeException e) {
                    if (!buffer.hasMoved(before, at, patience)) {
                        throw buffer.refused(at.arena().describe(at.token()), "open, and held by nobody");
                    }
                }
            }
            buffer.moveTo(null);
        }
        handles.close(buffer);
    }

    /** As {@link #migrate(PoolBuffer, MemoryTier, Deadline)} with a minute's time for the copy, without waiting for room. */
    public void migrate(PoolBuffer buffer, MemoryTier tier) {
        migrate(buffer, tier, false, Deadline.of(TIME_TO_COPY));
    }

    /**
     * Moves a sealed buffer to another tier; nothing when it is there. Readers go on meanwhile: a lease keeps the place it was taken at, and
     * whoever comes later gets the new one, with the same bytes. The old place is free when its last reader has gone.
     *
     * @param deadline for room in that tier and for the copy, which is left after one piece of at most 8 MiB
     * @throws MooncakeException CORRUPT when its bytes are not those that left the host's memory: they are lost, to this and all later calls,
     *     and the buffer is only good to be deallocated; EXHAUSTED when that tier has no room or its device fails; DEADLINE_EXCEEDED; ILLEGAL_STATE when the buffer is
     *     being filled, is pinned, migrating or deallocated; the buffer stays where it is then
     */
    public void migrate(PoolBuffer buffer, MemoryTier tier, Deadline deadline) {
        migrate(buffer, tier, true, deadline);
    }

    private void migrate(PoolBuffer buffer, MemoryTier tier, boolean awaitRoom, Deadline deadline) {
        requireOwn(buffer);
        TierSpace to = space(tier);
        PoolBuffer.Place from = startMove(buffer, to, deadline);
        if (from == null) {
            return;
        }
        boolean moved = false;
        try {
            buffer.requireWhole(from);
            long size = buffer.size();
            long token = awaitRoom ? await(to, size, deadline) : allocate(to, size, Deadline.ofMillis(MILLIS_FOR_ROOM));
            requireRoom(to, size, token);
            move(buffer, from, to, token, deadline);
            moved = true;
        } finally {
            if (!moved) {
                from.arena().cancelMove(from.token());
            }
        }
    }

    /** Where it moves from; null when it is there already. */
    private static PoolBuffer.@Nullable Place startMove(PoolBuffer buffer, TierSpace to, Deadline deadline) {
        while (true) {
            int before = buffer.moves();
            PoolBuffer.Place from = buffer.requirePlace();
            if (from.space() == to) {
                return null;
            }
            if (from.arena().startMove(from.token())) {
                // Whoever tried before may have found it damaged: nobody else can from here on.
                return buffer.requirePlace();
            }
            if (!buffer.hasMoved(before, from, deadline)) {
                throw buffer.refused(from.arena().describe(from.token()), "sealed, without hard pins");
            }
        }
    }

    /** Moves a buffer to another block of its tier, so that this one is free; false when that can't be now. */
    boolean moveWithin(PoolBuffer buffer, PoolBuffer.Place from) {
        buffer.movesWithin();
        try {
            return from.arena().startMove(from.token()) && moveStarted(buffer, from);
        } finally {
            buffer.movesWithin();
        }
    }

    private boolean moveStarted(PoolBuffer buffer, PoolBuffer.Place from) {
        boolean moved = false;
        try {
            long token = from.arena().allocate(buffer.size());
            if (token != BlockArena.NONE) {
                move(buffer, from, from.space(), token, Deadline.of(TIME_TO_COPY));
                moved = true;
            }
            return moved;
        } finally {
            if (!moved) {
                from.arena().cancelMove(from.token());
            }
        }
    }

    /** The move itself, to a block that is being filled; when it throws, that block is free again. */
    private void move(PoolBuffer buffer, PoolBuffer.Place from, TierSpace to, long token, Deadline deadline) {
        boolean copied = false;
        long checksum;
        try {
            checksum = new TierCopy(from.space(), to, spaces.get(MemoryTier.DRAM))
                    .copy(from.arena().address(from.token()), to.arena.address(token), buffer.size(), deadline);
            if (verified && from.hasChecksum() && from.checksum() != checksum) {
                throw lost(buffer, from, checksum);
            }
            copied = true;
        } finally {
            if (!copied) {
                to.arena.free(token);
            }
        }
        to.arena.carrySoftPin(from.arena(), from.token(), token);
        to.arena.seal(token);
        to.owners.set(to.arena.slotOf(token), buffer);
        // First where readers look, then the end of the old place: in between both are right.
        buffer.moveTo(new PoolBuffer.Place(to, token).withChecksum(checksum));
        from.arena().finishMove(from.token());
    }

    /** Not what it was when it left the host's memory: whoever asks for it is told, and nobody gets it. */
    private MooncakeException lost(PoolBuffer buffer, PoolBuffer.Place from, long found) {
        buffer.moveTo(from.lost());
        lost.increment();
        MooncakeException corrupt = buffer.corrupt(
                from.space().tier,
                String.format("checksum %08x", found),
                String.format("%08x, as it was sent there", from.checksum()));
        long now = nanoTime();
        long last = lastLogNanos.get();
        if (now - last >= LOG_NANOS && lastLogNanos.compareAndSet(last, now)) {
            LOG.warn("{}; {} buffers lost so far", corrupt.getMessage(), lost.sum());
        }
        return corrupt;
    }

    private void requireOwn(PoolBuffer buffer) {
        if (buffer.pool() != this) {
            throw buffer.refused("of another pool", "a buffer of this one");
        }
    }

    private TierSpace space(MemoryTier tier) {
        handles.requireOpen();
        TierSpace space = spaces.get(tier);
        if (space == null) {
            throw MooncakeException.invalid("tier", tier, "one this pool has: " + spaces.keySet());
        }
        return space;
    }

    // -------------------------------------------------------------------------------------------------------- look

    /** The blocks of a tier by token, for data planes. Whoever allocates there frees there, before the pool is closed. */
    public BlockArena arena(MemoryTier tier) {
        return space(tier).arena;
    }

    /**
     * The DRAM tier's memory, to be registered with an engine, and retained meanwhile.
     *
     * @throws MooncakeException INVALID_ARGUMENT without that tier
     */
    public MemoryRegion region() {
        MemoryRegion memory = region;
        if (memory == null) {
            throw MooncakeException.invalid("tier", MemoryTier.DRAM, "one this pool has: " + spaces.keySet());
        }
        return memory;
    }

    /** What was taken of the machine. */
    public MemoryPlan plan() {
        return plan;
    }

    /** Buffers and leases that are open. */
    public long open() {
        return handles.count();
    }

    /** Buffers whose bytes another tier did not give back as they went there, since the pool was made. */
    public long lost() {
        return lost.sum();
    }

    OpenHandles handles() {
        return handles;
    }

    long nanoTime() {
        return System.nanoTime();
    }

    /**
     * Closes the pool. Idempotent.
     *
     * @throws MooncakeException ILLEGAL_STATE with the places where what is still open was opened, under leak debugging; the pool is closed
     *     nonetheless, and its memory goes with the last of them
     */
    @Override
    public void close() {
        String report = handles.count() == 0 ? null : handles.report();
        if (handles.closePool() && report != null) {
            if (handles.debug()) {
                throw new MooncakeException(Code.ILLEGAL_STATE, report);
            }
            LOG.warn("{}", report);
        }
    }

    /** The GPU first: it may have locked the DRAM. */
    private static void closeAll(List<TierSpace> opened) {
        RuntimeException failure = null;
        for (TierSpace space : opened) {
            try {
                space.close();
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
