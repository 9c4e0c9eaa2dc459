// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.ByteSize;
import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.ssd.FormerStores;
import io.mooncake.memory.ssd.SsdSettings;
import io.mooncake.memory.ssd.SsdStatus;
import io.mooncake.memory.ssd.SsdStore;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The SSD below a {@link LocalKvPool}: what the pool stores is written behind, what it has given up is brought back when it is asked for, after
 * a restart too.
 *
 * <pre>{@code
 * try (LocalKvPool pool = LocalKvPool.create(...);
 *         SsdTier tier = SsdTier.open(pool, SsdTier.settings(pool, path, "node-1", bytes).build(), List.of());
 *         PrefixLease hit = tier.pool().acquire(tokens, Deadline.ofMillis(50))) { ... }
 * }</pre>
 *
 * <p>The SSD is to the pool what a peer is to a cluster's: {@link #extend} reads what follows a match straight into memory of the pool, where it
 * is verified as a fetched block is, and kept. What goes wrong is a shorter match with a reason. A tier whose device failed too often serves
 * nothing, and the pool goes on without it.
 *
 * <p>Listeners hear what the node <i>holds</i>: a block is stored when memory or SSD gets it first, and removed when both have lost it; what an
 * earlier life left on the SSD is stored as it is found.
 *
 * <p>Ownership: the creator owes one {@link #close()}, before the pool's. Threading: safe for all threads; none waits longer than its deadline.
 */
public final class SsdTier implements AutoCloseable {
    /** Blocks that may wait to be written. */
    private static final int QUEUE_BLOCKS = 1024;

    /** Blocks brought up at a time. */
    private static final int BATCH_BLOCKS = 256;

    /** Peers' requests that may wait for the SSD at a time: the others' threads are for other messages. */
    private static final int PEERS = 2;

    /** A device that kept somebody waiting this long, and then in vain, is not asked for a while. */
    private static final long STALL_NANOS = 200_000_000L;

    private static final long PAUSE_NANOS = 2_000_000_000L;
    private static final long JOIN_MILLIS = 2_000;
    private static final Logger LOG = LoggerFactory.getLogger(SsdTier.class);

    private final LocalKvPool pool;
    private final SsdStore ssd;
    private final TierCatalog catalog;
    private final TierWriter writer;
    private final TierReader reader;
    private final TierRecovery recovery;
    private final SingleFlight flights = new SingleFlight();
    private final Semaphore peers = new Semaphore(PEERS);
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile long askedFrom = System.nanoTime();

    private SsdTier(
            LocalKvPool pool,
            SsdStore ssd,
            Predicate<StoredBlock> admission,
            int queueBlocks,
            List<BlockListener> listeners) {
        this.pool = pool;
        this.ssd = ssd;
        TierWriter[] made = new TierWriter[1];
        catalog = new TierCatalog(
                key -> made[0].offer(key),
                listeners,
                pool.store()::worth,
                pool.store().nanoClock,
                pool::isPinnedHard,
                pool.store().accounts.of(""));
        writer = new TierWriter(pool, ssd, catalog, admission, queueBlocks);
        made[0] = writer;
        reader = new TierReader(pool, ssd, catalog);
        recovery = new TierRecovery(pool, ssd, catalog);
    }

    /**
     * Opens the tier and begins to write.
     *
     * @param settings of {@link #settings}
     * @param listeners hear what the node holds, from now on
     * @throws MooncakeException as {@link SsdStore#open}; CONFIGURATION when the Java heap can't hold what {@link #heapBytes} says
     */
    public static SsdTier open(LocalKvPool pool, SsdSettings settings, List<BlockListener> listeners) {
        return open(pool, settings, listeners, null);
    }

    /**
     * As {@link #open(LocalKvPool, SsdSettings, List)}, for a path where former models left something.
     *
     * @param formers which give room when it is needed; null: none
     */
    public static SsdTier open(
            LocalKvPool pool, SsdSettings settings, List<BlockListener> listeners, @Nullable FormerStores formers) {
        long stride = pool.store().slab.strideBytes();
        if (settings.recordBytes() != stride) {
            throw MooncakeException.invalid("ssd record bytes", settings.recordBytes(), "" + stride);
        }
        long heap = heapBytes(pool.identity(), settings.capacityBytes());
        if (heap > maxHeapBytes()) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "ssd capacity bytes: " + settings.capacityBytes() + ", which need " + ByteSize.format(heap)
                            + " of the Java heap (expected: at most " + ByteSize.format(maxHeapBytes())
                            + ", three quarters of -Xmx; less capacity, more heap or longer blocks)");
        }
        SsdStore ssd = SsdStore.open(settings, formers);
        try {
            return over(pool, ssd, block -> true, QUEUE_BLOCKS, listeners);
        } catch (RuntimeException e) {
            ssd.close();
            throw e;
        }
    }

    /** The tier over a store, which it owns. */
    static SsdTier over(
            LocalKvPool pool,
            SsdStore ssd,
            Predicate<StoredBlock> admission,
            int queueBlocks,
            List<BlockListener> listeners) {
        SsdTier tier = new SsdTier(pool, ssd, admission, queueBlocks, listeners);
        // What memory refused would never get to the SSD, which has room for it.
        pool.store().admitAll();
        pool.addListener(tier.writer.backlog);
        pool.addListener(tier.catalog);
        pool.forEachBlock(block -> tier.catalog.onStored(block));
        tier.writer.start();
        tier.recovery.start();
        return tier;
    }

    /**
     * Settings for the blocks of {@code pool}.
     *
     * @param path an existing folder
     * @param owner name of the node, the same after a restart
     * @param capacityBytes at least one block
     */
    public static SsdSettings.Builder settings(LocalKvPool pool, Path path, String owner, long capacityBytes) {
        return SsdSettings.builder(
                path,
                owner,
                identityDigest(pool.name(), pool.identity()),
                Math.toIntExact(LocalKvPool.blockStrideBytes(pool.identity())),
                capacityBytes);
    }

    /**
     * Bytes of the Java heap that a tier of {@code capacityBytes} takes when it is full: its index and its catalogue. What routers keep of its
     * blocks is not in it.
     */
    public static long heapBytes(KvIdentity identity, long capacityBytes) {
        long blocks = capacityBytes / LocalKvPool.blockStrideBytes(identity);
        long each = TierCatalog.HEAP_BYTES + (long) Integer.BYTES * identity.blockTokens();
        return SsdStore.heapBytes((int) Math.min(blocks, Integer.MAX_VALUE / 4)) + each * blocks;
    }

    /** The most of the Java heap that the tiers of a process may take. */
    public static long maxHeapBytes() {
        return Runtime.getRuntime().maxMemory() / 4 * 3;
    }

    /** What the blocks of a pool of this name and identity are stored under. */
    static String identityDigest(String name, KvIdentity identity) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            sha.update("mooncake ssd tier 1\0".getBytes(StandardCharsets.UTF_8));
            // The root names everything that decides the meaning of the bytes.
            sha.update(ChainKeys.root(identity, Tenant.DEFAULT.salt()).toBytes());
            sha.update(name.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(sha.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new MooncakeException(MooncakeException.Code.INTERNAL, "no SHA-256", e);
        }
    }

    // --------------------------------------------------------------------------------------------------- use

    /** The pool with the SSD, for programs without a cluster. Borrows both. */
    public KvPool pool() {
        return new TieredKvPool(pool, this, Tenant.DEFAULT);
    }

    /** Whether the SSD has the block now. No I/O. */
    public boolean contains(BlockKey key) {
        return serves() && ssd.contains(key);
    }

    private boolean serves() {
        return !closed.get();
    }

    /**
     * Brings up the whole blocks that follow {@code match}, and grows it by them.
     *
     * @param match of the pool
     * @param keys the chain of its prompt, from the first block
     * @return NONE when nothing whole is missing any more, NOT_CACHED when the SSD does not have the next block, else why it could not be had
     */
    public MissReason extend(LocalMatch match, Tenant tenant, List<BlockKey> keys, Deadline deadline) {
        int end = Math.min(keys.size(), match.reusableTokens() / pool.identity().blockTokens());
        while (match.wholeBlocks() < end) {
            int from = match.wholeBlocks();
            BlockKey first = keys.get(from);
            if (!contains(first)) {
                return MissReason.NOT_CACHED;
            }
            if (deadline.expired() || stalls()) {
                return MissReason.DEADLINE;
            }
            if (!flights.beginOrAwait(first, deadline)) {
                match.extendLocally();
                if (Thread.currentThread().isInterrupted()) {
                    return MissReason.DEADLINE;
                }
                continue;
            }
            List<IncomingBlock> arrived = new ArrayList<>();
            List<PinnedBlock> there = new ArrayList<>();
            try {
                MissReason reason = read(wanted(keys, from, end, there), tenant.name(), deadline, arrived);
                match.extendLocally();
                if (reason != MissReason.NONE || match.wholeBlocks() <= from) {
                    return reason == MissReason.NONE ? MissReason.NOT_CACHED : reason;
                }
            } finally {
                arrived.forEach(IncomingBlock::close);
                there.forEach(PinnedBlock::close);
                flights.end(first);
            }
        }
        return MissReason.NONE;
    }

    private boolean stalls() {
        return System.nanoTime() - askedFrom < 0;
    }

    private MissReason read(List<BlockKey> wanted, String tenant, Deadline deadline, List<IncomingBlock> arrived) {
        long start = System.nanoTime();
        MissReason reason = reader.read(wanted, tenant, deadline, arrived);
        long now = System.nanoTime();
        if (reason == MissReason.DEADLINE && now - start > STALL_NANOS) {
            askedFrom = now + PAUSE_NANOS;
        }
        return reason;
    }

    /**
     * Those to be read: what neither has ends it, and what memory has already is left out.
     *
     * @param there gets holds on the latter, which the caller owes a close: they may not go for those that are read
     */
    private List<BlockKey> wanted(List<BlockKey> keys, int from, int end, List<PinnedBlock> there) {
        List<BlockKey> wanted = new ArrayList<>();
        for (int i = from; i < end && wanted.size() < BATCH_BLOCKS; i++) {
            BlockKey key = keys.get(i);
            PinnedBlock pin = pool.pin(key);
            if (pin != null) {
                there.add(pin);
            } else if (contains(key)) {
                wanted.add(key);
            } else {
                break;
            }
        }
        return wanted;
    }

    /**
     * Holds blocks in place for a peer, bringing up those that only the SSD has: at most a quarter of the pool's blocks a call, so that a
     * peer's request does not empty the memory.
     *
     * @return one element a key; null where the block is not here, or could not be had by the deadline
     */
    public List<@Nullable PinnedBlock> pin(List<BlockKey> keys, Deadline deadline) {
        List<@Nullable PinnedBlock> pins = new ArrayList<>(Collections.nCopies(keys.size(), null));
        List<IncomingBlock> arrived = new ArrayList<>();
        try {
            List<BlockKey> wanted = pinHere(keys, pins);
            if (!wanted.isEmpty() && !stalls() && peers.tryAcquire()) {
                try {
                    read(wanted, "", deadline, arrived); // what is not there stays without a pin
                } finally {
                    peers.release();
                }
                pinHere(keys, pins);
            }
            return pins;
        } catch (RuntimeException e) {
            for (PinnedBlock pin : pins) {
                if (pin != null) {
                    pin.close();
                }
            }
            throw e;
        } finally {
            arrived.forEach(IncomingBlock::close);
        }
    }

    /** Pins what memory has; the keys that only the SSD has. */
    private List<BlockKey> pinHere(List<BlockKey> keys, List<@Nullable PinnedBlock> pins) {
        int most = Math.max(1, pool.store().slab.slots() / 4);
        List<BlockKey> wanted = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            if (pins.get(i) == null) {
                BlockKey key = keys.get(i);
                PinnedBlock pin = pool.pin(key);
                pins.set(i, pin);
                if (pin == null && wanted.size() < most && contains(key)) {
                    wanted.add(key);
                }
            }
        }
        return wanted;
    }

    /**
     * Pins a block that memory has: {@link LocalKvPool#pinHard}. It is written to the SSD, whatever it is worth, and stays there, too. A block that only
     * the SSD has is brought up before, by {@link #pin}, and held until it is pinned.
     */
    public BlockOutcome pinHard(BlockKey key) {
        BlockOutcome outcome = pool.pinHard(key);
        if (outcome == BlockOutcome.DONE || outcome == BlockOutcome.UNCHANGED) {
            catalog.want(key);
        }
        return outcome;
    }

    /**
     * Removes a block and what follows it, wherever that is, from memory, as {@link LocalKvPool#remove}, and from the SSD. A copy between them that is under
     * way does not bring it back.
     *
     * @return DONE when either had any of it; ABSENT; PINNED when a hard pin holds any of it: nothing is removed then
     */
    public BlockOutcome remove(BlockKey key, RemovalCause cause) {
        pool.handles().enter(); // frees memory, whose headers it writes
        try {
            BlockOutcome outcome = catalog.remove(key, cause, pool.operations(), ssd::remove);
            pool.store().events.drain();
            return outcome;
        } finally {
            pool.handles().leave();
        }
    }

    // ------------------------------------------------------------------------------------------------- state

    /** How many blocks of {@code keys}, from the first, {@code match}, memory and SSD have in a row. No I/O. */
    public int heldBlocks(LocalMatch match, List<BlockKey> keys) {
        int held = match.wholeBlocks();
        while (held < keys.size() && (pool.contains(keys.get(held)) || contains(keys.get(held)))) {
            held++;
        }
        return held;
    }

    /**
     * Shows what {@code pool} and the SSD below it hold: a block that both have as memory's. Not one moment: a block that moves meanwhile may be
     * shown where it was.
     *
     * @param tier null: none
     */
    public static void forEachView(LocalKvPool pool, @Nullable SsdTier tier, Consumer<BlockView> consumer) {
        Set<BlockKey> shown = new HashSet<>();
        pool.forEachView(view -> {
            shown.add(view.block().key());
            consumer.accept(view);
        });
        if (tier != null) {
            for (StoredBlock block : tier.onlyOnSsd()) {
                if (!shown.contains(block.key())) {
                    consumer.accept(new BlockView(block, "SSD", pool.layout().payloadBytes(), 0, 0, 0, false));
                }
            }
        }
    }

    /**
     * Shows up to {@code limit} blocks of what memory and SSD hold, as {@link LocalKvPool#forEachSlot} does. A block that moves between them is shown all
     * the same. What was stored a moment ago may be missing still, what has gone a moment ago is not shown.
     *
     * @param tier null: none
     * @param from 0 for the first page, then what the page before returned
     * @param limit at least 1
     * @return where the next page begins, or {@link LocalKvPool#WALK_END}
     */
    public static int forEachHeld(
            LocalKvPool pool, @Nullable SsdTier tier, int from, int limit, Consumer<HeldBlock> visitor) {
        if (tier == null) {
            return pool.forEachSlot(from, limit, visitor);
        }
        if (from < 0) {
            throw MooncakeException.invalid("from", from, "at least 0");
        }
        if (limit < 1) {
            throw MooncakeException.invalid("limit", limit, "at least 1");
        }
        TierCatalog.Page page = tier.catalog.page(from, limit);
        pool.handles().enter();
        try {
            SlotBlock inMemory = new SlotBlock(pool.store());
            for (int i = 0; i < page.blocks().size(); i++) {
                tier.show(page.blocks().get(i), page.where().get(i), inMemory, visitor);
            }
        } finally {
            pool.handles().leave();
        }
        return page.next();
    }

    private void show(StoredBlock block, HeldIn where, SlotBlock inMemory, Consumer<HeldBlock> visitor) {
        int slot = where == HeldIn.SSD ? BlockSlab.NONE : pool.store().leaseByKey(block.key());
        if (slot != BlockSlab.NONE) {
            try {
                visitor.accept(inMemory.of(slot, where));
            } finally {
                pool.store().release(slot);
            }
        } else if (where == HeldIn.SSD || contains(block.key())) {
            visitor.accept(new RecordBlock(block, pool.layout().payloadBytes()));
        }
    }

    /** What only the SSD has, at one moment. */
    public List<StoredBlock> onlyOnSsd() {
        return catalog.onlyOnSsd();
    }

    /** Bytes a block takes on the SSD. */
    public int blockBytes() {
        return ssd.recordBytes();
    }

    /** Waits until what was stored in the pool before is on the SSD and survives a power cut, or has failed; false when it took too long. */
    public boolean flush(Deadline deadline) {
        return writer.drain(deadline) && ssd.flush(deadline);
    }

    /** Waits until everything that an earlier life left on the SSD has been announced; false when it took too long. */
    public boolean awaitRecovery(Deadline deadline) {
        return recovery.await(deadline);
    }

    /** Counters now. */
    public SsdTierStatistics statistics() {
        SsdStatus status = ssd.status();
        return new SsdTierStatistics(
                status,
                catalog.ssdBlocks(),
                ssd.slots(),
                ssd.recordBytes(),
                writer.written.sum(),
                reader.blocks.sum(),
                writer.evicted.sum(),
                writer.pending(),
                writer.dropped.sum(),
                catalog.lost(),
                writer.failed.sum(),
                reader.failed.sum(),
                reader.late.sum(),
                reader.damaged.sum(),
                recovery.announced(),
                recovery.running(),
                ssd.statistics());
    }

    /** Ends it, after {@code drain} at the latest for what waits to be written; what is in the store then is made durable. Idempotent. */
    public void close(Deadline drain) {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        if (!writer.drain(drain)) {
            LOG.warn("SSD tier of pool {}: {} blocks were not written before it closed", pool.name(), writer.pending());
        }
        recovery.stop(Deadline.ofMillis(JOIN_MILLIS));
        writer.stop();
        ssd.close();
        writer.join(Deadline.ofMillis(JOIN_MILLIS));
        catalog.close();
        pool.store().admitByPolicy();
        pool.removeListener(catalog);
        pool.removeListener(writer.backlog);
    }

    /** As {@link #close(Deadline)}, without waiting for what is not written. */
    @Override
    public void close() {
        close(Deadline.ofMillis(1));
    }
}
