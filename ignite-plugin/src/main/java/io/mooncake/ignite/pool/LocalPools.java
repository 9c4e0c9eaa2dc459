// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import io.mooncake.base.ByteSize;
import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockListener;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MemoryRegion;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.ssd.FormerStores;
import io.mooncake.memory.ssd.SsdSettings;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.LeaseSource;
import io.mooncake.transfer.PublishedGuard;
import io.mooncake.transfer.TransferEngine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This node's memory: one region, cut into equal shares for the node's pools, registered with the engine, whose peers lease from it.
 *
 * <p>Ownership: owns region and pools. {@link #close} ends the registration first, so that no transfer can touch freed memory.
 * Threading: safe for all threads.
 */
public final class LocalPools implements LeaseSource, PublishedGuard, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalPools.class);

    /** How long a peer's request may wait for blocks that are on the SSD only. */
    private static final long SSD_MILLIS = 500;

    /** How long a node that stops writes what is not on the SSD yet. */
    private static final long DRAIN_MILLIS = 5_000;

    private final MemoryRegion region;
    private final Map<String, LocalKvPool> pools = new LinkedHashMap<>();
    private final Map<String, SsdTier> tiers = new ConcurrentHashMap<>();
    /** Whether nodes of this machine may map it. */
    private final boolean offered;

    private final LocalKvPool[] byShare;
    private final long shareBytes;
    private volatile BooleanSupplier fenced = () -> false;
    private @Nullable TransferEngine engine;
    private int regionId;
    private boolean closed;

    /**
     * Allocates and touches the memory.
     *
     * @param dramBytes all of it
     * @param shared directory of a file through which nodes of this machine may map it for reading, where there is room; null: none may
     * @param hugePages whether it lies in a mount of hugetlbfs instead where one has the pages; nodes may map it there as well, if they may
     * @param evictionPolicy of each pool: one of {@link io.mooncake.memory.policy.Policies#names()}
     * @param definitions at least one
     */
    public LocalPools(
            long dramBytes,
            @Nullable Path shared,
            boolean hugePages,
            String evictionPolicy,
            List<PoolDefinition> definitions) {
        this(
                dramBytes,
                shared,
                hugePages,
                definitions,
                (definition, memory, offset, bytes) -> LocalKvPool.create(
                        definition.name(),
                        definition.identity(),
                        definition.vocabulary(),
                        memory,
                        offset,
                        bytes,
                        evictionPolicy));
    }

    /** Makes the pool of a definition in a share of the node's memory. */
    @FunctionalInterface
    interface Maker {
        LocalKvPool make(PoolDefinition definition, MemoryRegion memory, long offset, long bytes);
    }

    LocalPools(
            long dramBytes, @Nullable Path shared, boolean hugePages, List<PoolDefinition> definitions, Maker maker) {
        shareBytes = dramBytes / definitions.size() / MemoryRegion.PAGE_BYTES * MemoryRegion.PAGE_BYTES;
        region = allocate(shareBytes * definitions.size(), shared, hugePages);
        offered = shared != null;
        try {
            for (PoolDefinition definition : definitions) {
                pools.put(definition.name(), maker.make(definition, region, shareBytes * pools.size(), shareBytes));
            }
        } catch (RuntimeException e) {
            pools.values().forEach(LocalKvPool::close);
            region.close();
            throw e;
        }
        byShare = pools.values().toArray(new LocalKvPool[0]);
    }

    /**
     * Lets {@code listeners} hear what the pools hold, and puts an SSD below them. Once, before anything is stored.
     *
     * @param listeners by pool
     * @param path an existing folder; null: no SSD
     * @param owner name of the node, the same after a restart
     * @param capacityBytes shared evenly by the pools
     * @throws MooncakeException CONFIGURATION when the folder can't be used
     */
    public void listen(
            Function<String, BlockListener> listeners, @Nullable Path path, String owner, long capacityBytes) {
        if (path == null) {
            pools.values().forEach(pool -> pool.addListener(listeners.apply(pool.name())));
            return;
        }
        Map<String, SsdSettings> settings = new LinkedHashMap<>();
        pools.values()
                .forEach(pool -> settings.put(
                        pool.name(),
                        SsdTier.settings(pool, path, owner, capacityBytes / pools.size())
                                .build()));
        FormerStores formers = FormerStores.besides(List.copyOf(settings.values()), capacityBytes);
        for (LocalKvPool pool : pools.values()) {
            BlockListener listener = listeners.apply(pool.name());
            if (!openTier(pool, listener, Objects.requireNonNull(settings.get(pool.name())), formers)) {
                pool.addListener(listener);
            }
        }
        // What is there may be more than the capacity of now.
        formers.makeRoom(0, false);
        long left = formers.bytes();
        if (left > 0) {
            LOG.info(
                    "SSD path {}: {} of models that no pool has now stay until the room is needed",
                    path,
                    ByteSize.format(left));
        }
    }

    /** False when the device does not even give the index: a cache that is lost must not keep the node from starting. */
    private boolean openTier(LocalKvPool pool, BlockListener listener, SsdSettings settings, FormerStores formers) {
        try {
            tiers.put(pool.name(), SsdTier.open(pool, settings, List.of(listener), formers));
            return true;
        } catch (MooncakeException e) {
            if (e.code() != MooncakeException.Code.CORRUPT) {
                throw e;
            }
            LOG.error("Pool {} goes without its SSD until the node is started again: {}", pool.name(), e.getMessage());
            return false;
        }
    }

    /** The SSDs below the pools, by the pool's name; those that could be opened. */
    public Map<String, SsdTier> tiers() {
        return Collections.unmodifiableMap(tiers);
    }

    private static MemoryRegion allocate(long bytes, @Nullable Path shared, boolean hugePages) {
        Optional<MemoryRegion> huge = hugePages ? MemoryRegion.allocateInHugePages(bytes) : Optional.empty();
        if (huge.isPresent()) {
            SharedFile file = huge.get().sharedFile();
            LOG.info("The memory of this node's pools lies in huge pages: {}", file == null ? "" : file.path());
            return huge.get();
        }
        if (shared != null) {
            String obstacle = SharedFile.obstacle(shared, bytes);
            try {
                if (obstacle.isEmpty()) {
                    return MemoryRegion.allocateShared(bytes, shared);
                }
            } catch (MooncakeException e) {
                if (e.code() != MooncakeException.Code.EXHAUSTED) {
                    throw e;
                }
                obstacle = String.valueOf(e.getMessage());
            }
            LOG.warn("Nodes of this machine read this node's memory by TCP, it can't be shared: {}", obstacle);
        }
        return MemoryRegion.allocate(bytes);
    }

    /** While {@code by} says so no lease is granted; it is asked before each. */
    public void fencedBy(BooleanSupplier by) {
        fenced = by;
    }

    /** The pools by name, in the order of their definitions. */
    public Map<String, LocalKvPool> byName() {
        return Collections.unmodifiableMap(pools);
    }

    /**
     * Registers the memory, into which fetches read. Once.
     *
     * @param lends whether peers may lease from it
     */
    public synchronized void serve(TransferEngine through, boolean lends) {
        SharedFile file = region.sharedFile();
        regionId = file == null || !offered
                ? through.registerMemory(region.address(), region.bytes(), this)
                : through.registerMemory(region.address(), region.bytes(), this, file);
        engine = through;
        if (lends) {
            through.serveLeases(this);
        }
    }

    @Override
    public boolean current(long offset, long length, long generation) {
        int share = (int) (offset / shareBytes);
        return offset >= 0
                && share < byShare.length
                && length <= shareBytes
                && byShare[share].isCurrent(offset, length, generation);
    }

    @Override
    public long generationOffset(long offset, long length) {
        int share = (int) (offset / shareBytes);
        long found = offset >= 0 && share < byShare.length ? byShare[share].generationOffset(offset) : -1;
        return found < 0 ? NOWHERE : found;
    }

    @Override
    public List<@Nullable Pin> pin(UUID peer, String namespace, List<byte[]> keys) {
        LocalKvPool pool = pools.get(namespace);
        if (pool == null || fenced.getAsBoolean() || keys.stream().anyMatch(key -> key.length != BlockKey.BYTES)) {
            return new ArrayList<>(Collections.nCopies(keys.size(), null));
        }
        List<BlockKey> wanted = keys.stream().map(BlockKey::of).toList();
        SsdTier tier = tiers.get(namespace);
        List<@Nullable PinnedBlock> blocks =
                tier == null ? pinInMemory(pool, wanted) : tier.pin(wanted, Deadline.ofMillis(SSD_MILLIS));
        int layerBytes = pool.layout().layerBytes();
        List<@Nullable Pin> pins = new ArrayList<>(keys.size());
        blocks.forEach(block -> pins.add(block == null ? null : new BlockPin(block, layerBytes)));
        return pins;
    }

    private static List<@Nullable PinnedBlock> pinInMemory(LocalKvPool pool, List<BlockKey> keys) {
        List<@Nullable PinnedBlock> pins = new ArrayList<>(keys.size());
        try {
            for (BlockKey key : keys) {
                pins.add(pool.pin(key));
            }
        } catch (RuntimeException e) {
            // The pool closed meanwhile; a pin left behind would keep its memory for ever.
            for (PinnedBlock pin : pins) {
                if (pin != null) {
                    pin.close();
                }
            }
            throw e;
        }
        return pins;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        // First, while the device may still write into the memory.
        Deadline drain = Deadline.ofMillis(DRAIN_MILLIS);
        tiers.values().forEach(tier -> tier.close(drain));
        try {
            if (engine != null) {
                engine.unregisterMemory(regionId);
            }
        } catch (MooncakeException e) {
            // An engine that was closed before has let go of the memory already.
            if (e.code() != MooncakeException.Code.ILLEGAL_STATE) {
                throw e;
            }
        }
        pools.values().forEach(LocalKvPool::close);
        region.close();
    }

    /** One block held in place for a peer. */
    private final class BlockPin implements Pin {
        private final PinnedBlock block;
        private final int layerBytes;

        BlockPin(PinnedBlock block, int layerBytes) {
            this.block = block;
            this.layerBytes = layerBytes;
        }

        @Override
        public int region() {
            return regionId;
        }

        @Override
        public long generation() {
            return block.generation();
        }

        @Override
        public long offset() {
            return block.offset();
        }

        @Override
        public int length() {
            return block.length();
        }

        @Override
        public int segmentLength() {
            return layerBytes;
        }

        @Override
        public int[] checksums() {
            return block.layerChecksums();
        }

        @Override
        public byte[] description() {
            return LeaseDescriptionDescriptor.encode(block.key(), block.parent(), block.depth(), block.tokens());
        }

        @Override
        public void close() {
            block.close();
        }
    }
}
