// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.ByteSize;
import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.index.ChainIndex;
import io.mooncake.memory.index.PrefixTree;
import io.mooncake.memory.index.PromptTokens;
import io.mooncake.memory.policy.EvictionPolicy;
import io.mooncake.memory.policy.Policies;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pool of one process over a part of a {@link MemoryRegion}. It serves a program on its own, and is what a cluster's pool keeps its
 * blocks in: {@link #match}, {@link #beginIncoming}, {@link #pin}, {@link #isCurrent} and the events are for that.
 *
 * <p>Ownership: the creator owes one {@link #close()}. With leak debugging (system property {@code mooncake.leakDebug=true}) closing throws
 * when leases, pins, writers, matches or incoming blocks are still open, and lists where each was opened; without, it logs their number.
 * Either way they stay valid, and the region stays mapped, until they are closed too.
 *
 * <p>Threading: safe for all threads. Look-ups, leases, pins and writes into free memory take no lock; publishing and evicting share one.
 *
 * <p>Errors: arguments are refused as INVALID_ARGUMENT with the position and value, before anything changes; after close every call but
 * those on open handles is ILLEGAL_STATE.
 */
public final class LocalKvPool implements KvPool, AutoCloseable {
    /** Policy of pools that are not told another. */
    public static final String DEFAULT_POLICY = "return-index";

    /** Longest prompt. */
    public static final int MAX_PROMPT_TOKENS = PrefixTree.MAX_TOKENS;

    /** Instead of the place of a next page. */
    public static final int WALK_END = -1;

    private static final int MAX_CACHED_ROOTS = 4096;
    private static final Logger LOG = LoggerFactory.getLogger(LocalKvPool.class);

    private final String name;
    private final KvIdentity identity;
    private final int vocabulary;
    private final PromptTokens prompts;
    private final BlockStore store;
    private final KeyedOperations operations;
    private final OpenWriters writers;
    private final OpenHandles handles;
    private final SafetyChecks checks;
    /** By tenant object: an HMAC a call would cost more than the look-up. Emptied when it grows too large. */
    private final Map<Tenant, BlockKey> roots = new ConcurrentHashMap<>();

    private final LongAdder lookups = new LongAdder();
    private final LongAdder requestedTokens = new LongAdder();
    private final LongAdder localTokens = new LongAdder();
    private final LongAdder remoteTokens = new LongAdder();
    private final Map<MissReason, LongAdder> misses = new EnumMap<>(MissReason.class);

    LocalKvPool(
            String name,
            KvIdentity identity,
            int vocabulary,
            BlockSlab slab,
            ChainIndex index,
            EvictionPolicy policy,
            LongSupplier nanoClock,
            SafetyChecks checks,
            Runnable whenQuiet) {
        this.name = name;
        this.identity = identity;
        this.vocabulary = vocabulary;
        this.checks = checks;
        prompts = new PromptTokens(vocabulary);
        store = new BlockStore(BlockLayout.of(identity), slab, index, policy, nanoClock, checks.found());
        operations = new KeyedOperations(store);
        writers = new OpenWriters(nanoClock);
        handles = new OpenHandles(name, Boolean.getBoolean("mooncake.leakDebug"), whenQuiet);
        for (MissReason reason : MissReason.values()) {
            misses.put(reason, new LongAdder());
        }
    }

    /** As {@link #create(String, KvIdentity, int, MemoryRegion, long, long, String)} with the policy {@value #DEFAULT_POLICY}. */
    public static LocalKvPool create(
            String name, KvIdentity identity, int vocabulary, MemoryRegion region, long offset, long bytes) {
        return create(name, identity, vocabulary, region, offset, bytes, DEFAULT_POLICY);
    }

    /**
     * A pool over {@code region[offset..offset+bytes)}.
     *
     * @param name 1..128 characters
     * @param vocabulary token ids are 0..vocabulary-1
     * @param region stays mapped until the pool and all it handed out are closed
     * @param offset multiple of 4096
     * @param bytes at least {@link #blockStrideBytes}; what is left after whole blocks is not used
     * @param policy one of {@link Policies#names()}: which block goes when another needs its place, and whether the other is worth it
     */
    public static LocalKvPool create(
            String name,
            KvIdentity identity,
            int vocabulary,
            MemoryRegion region,
            long offset,
            long bytes,
            String policy) {
        if (name.isEmpty() || name.length() > 128) {
            throw MooncakeException.invalid("pool name", name, "1..128 characters");
        }
        if (vocabulary < 1) {
            throw MooncakeException.invalid("vocabulary", vocabulary, "at least 1");
        }
        long stride = blockStrideBytes(identity);
        if (bytes < stride) {
            throw MooncakeException.invalid("pool bytes", bytes, "at least " + stride + ", one block");
        }
        BlockLayout layout = BlockLayout.of(identity);
        region.claim(offset, bytes);
        try {
            BlockSlab slab = new BlockSlab(region.address(), offset, bytes, layout);
            ChainIndex index = new ChainIndex(layout.blockTokens(), vocabulary, slab.slots());
            LocalKvPool pool = new LocalKvPool(
                    name,
                    identity,
                    vocabulary,
                    slab,
                    index,
                    Policies.byName(policy, slab.slots(), System::nanoTime),
                    System::nanoTime,
                    SafetyChecks.ALL,
                    () -> region.unclaim(offset));
            LOG.info(
                    "pool {}: {} blocks of {}, index of up to {} on the Java heap",
                    name,
                    slab.slots(),
                    ByteSize.format(stride),
                    ByteSize.format(pool.maxIndexBytes()));
            return pool;
        } catch (RuntimeException e) {
            region.unclaim(offset);
            throw e;
        }
    }

    /** Bytes that one block of {@code identity} takes in a region, header and padding included. */
    public static long blockStrideBytes(KvIdentity identity) {
        return BlockDescriptor.strideBytes(BlockLayout.of(identity));
    }

    /** The most bytes of the Java heap that the index of this pool takes, whatever the prompts are. */
    public long maxIndexBytes() {
        return ChainIndex.maxMemoryBytes(store.layout.blockTokens(), store.slab.slots());
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public KvIdentity identity() {
        return identity;
    }

    @Override
    public BlockLayout layout() {
        return store.layout;
    }

    /** Token ids are below it. */
    public int vocabulary() {
        return vocabulary;
    }

    /** Name of the policy that says which blocks stay. */
    public String evictionPolicy() {
        return store.policy().name();
    }

    @Override
    public KvPool forTenant(Tenant tenant) {
        return new TenantView(this, tenant);
    }

    // ------------------------------------------------------------------------------------------------------- use

    /** As {@link Tenant#DEFAULT}. Local blocks are there at once, so the deadline is not needed. */
    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline) {
        return acquire(Tenant.DEFAULT, tokens);
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline, RequestHints hints) {
        return acquire(Tenant.DEFAULT, tokens, hints);
    }

    /** The longest local prefix of {@code tokens}. */
    public PrefixLease acquire(Tenant tenant, int[] tokens) {
        return acquire(tenant, tokens, RequestHints.NONE);
    }

    /** The same, with what else is known of the request. */
    public PrefixLease acquire(Tenant tenant, int[] tokens, RequestHints hints) {
        try (LocalMatch match = match(tenant, tokens, hints)) {
            return match.toLease(match.matchedTokens(), MissReason.NOT_CACHED);
        }
    }

    /** The longest local match, to be extended by fetched blocks and turned into a lease. */
    public LocalMatch match(Tenant tenant, int[] tokens) {
        return match(tenant, tokens, RequestHints.NONE);
    }

    /** The same, with what else is known of the request. The policy learns of the request here. */
    public LocalMatch match(Tenant tenant, int[] tokens, RequestHints hints) {
        StoreMatch match = find(tenant, tokens, hints);
        match.begin();
        return match;
    }

    /** The longest local match for who only wants to know: no request for the policy, no use of the blocks, not to be turned into a lease. */
    public LocalMatch probe(Tenant tenant, int[] tokens) {
        return find(tenant, tokens, RequestHints.NONE);
    }

    private StoreMatch find(Tenant tenant, int[] tokens, RequestHints hints) {
        prompts.requireValid(tokens);
        StoreMatch match = new StoreMatch(this, root(tenant), tokens, hints);
        handles.open(match, StoreMatch.KIND);
        match.extendLocally();
        return match;
    }

    /** As {@link Tenant#DEFAULT}. */
    @Override
    public BlockWriter extend(PrefixLease prefix, int[] tokens) {
        return extend(Tenant.DEFAULT, prefix, tokens);
    }

    /**
     * See {@link KvPool#extend}.
     *
     * @throws MooncakeException INVALID_ARGUMENT when {@code prefix} is of another pool, another tenant, or no prefix of {@code tokens}
     */
    public BlockWriter extend(Tenant tenant, PrefixLease prefix, int[] tokens) {
        return open(tenant, prefix, tokens, null);
    }

    /** As {@link Tenant#DEFAULT}. */
    @Override
    public BlockWriter extend(PrefixLease prefix, int[] tokens, Deadline deadline) {
        return extend(Tenant.DEFAULT, prefix, tokens, deadline);
    }

    /** The same; see {@link KvPool#extend(PrefixLease, int[], Deadline)}. */
    public BlockWriter extend(Tenant tenant, PrefixLease prefix, int[] tokens, Deadline deadline) {
        return open(tenant, prefix, tokens, deadline);
    }

    private BlockWriter open(Tenant tenant, PrefixLease prefix, int[] tokens, @Nullable Deadline deadline) {
        prompts.requireValid(tokens);
        if (!(prefix instanceof LocalLease lease) || lease.pool() != this) {
            throw MooncakeException.invalid("prefix", prefix, "a lease of pool " + name);
        }
        handles.enter(); // the lease may be closed, and the pool with it, by another thread
        try {
            lease.requireOpen();
            return writer(tenant, lease, tokens, deadline);
        } finally {
            handles.leave();
        }
    }

    private BlockWriter writer(Tenant tenant, LocalLease lease, int[] tokens, @Nullable Deadline deadline) {
        BlockKey root = root(tenant);
        int whole = lease.wholeBlocks();
        if (whole > 0 && !lease.root().equals(root)) {
            throw MooncakeException.invalid("prefix", "a lease of another tenant", "a lease of " + tenant.name());
        }
        int blockTokens = store.layout.blockTokens();
        for (int i = 0; i < whole; i++) {
            int offset = i * blockTokens;
            if (offset + blockTokens > tokens.length
                    || !BlockDescriptor.hasTokens(store.header(lease.slot(i)), store.layout, tokens, offset)) {
                throw MooncakeException.invalid(
                        "prefix", "another block " + i + " than that of tokens", "a lease on a prefix of tokens");
            }
        }
        PromptChain known = lease.root().equals(root) ? lease.chain() : null;
        LocalWriter writer = new LocalWriter(
                this, tenant.name(), whole == 0 ? root : lease.lastWholeKey(), whole, tokens, known, deadline);
        handles.open(writer, LocalWriter.KIND);
        writers.add(writer);
        return writer;
    }

    /** As {@link Tenant#DEFAULT}. */
    @Override
    public PrefixLease withoutLookup() {
        return withoutLookup(Tenant.DEFAULT);
    }

    /** An empty lease with reason LOOKUP_DISABLED, counted as such. */
    public PrefixLease withoutLookup(Tenant tenant) {
        BlockKey root = root(tenant);
        LocalLease lease = new LocalLease(this, root, new int[0], null, null, root, 0, 0, MissReason.LOOKUP_DISABLED);
        handles.open(lease, LocalLease.KIND);
        countLookup(0, 0, 0, MissReason.LOOKUP_DISABLED);
        return lease;
    }

    /**
     * Closes the writers that nobody will close, because the thread that used them last has ended: their space is free again, and nobody has seen what was in it. A
     * writer whose thread lives is never touched. To be called now and then: a writer goes with the first call {@code term} after the one that saw its thread
     * ended, by the pool's clock, so with a call each second it goes within {@code term} and two seconds. Until then another thread may take the writer over
     * by using it. Does nothing on a closed pool.
     *
     * @param term how long a writer may wait for another thread; 0: not at all
     * @return how many were closed
     */
    public int reclaimAbandoned(Duration term) {
        if (term.isNegative()) {
            throw MooncakeException.invalid("term", term, "0 or more");
        }
        if (!handles.tryEnter()) {
            return 0;
        }
        try {
            int reclaimed = writers.reclaim(term);
            if (reclaimed > 0) {
                LOG.warn(
                        "pool {}: {} writers were reclaimed whose threads ended without closing them", name, reclaimed);
            }
            return reclaimed;
        } finally {
            handles.leave();
        }
    }

    // ------------------------------------------------------------------------------------------------------- names

    /** The key of the empty prefix of {@code tenant}. */
    public BlockKey root(Tenant tenant) {
        BlockKey root = roots.get(tenant);
        if (root == null) {
            if (roots.size() >= MAX_CACHED_ROOTS) {
                roots.clear();
            }
            root = ChainKeys.root(identity, tenant.salt());
            roots.put(tenant, root);
        }
        return root;
    }

    /** Keys of all full blocks of {@code tokens}, in order. */
    public List<BlockKey> chain(Tenant tenant, int[] tokens) {
        prompts.requireValid(tokens);
        int blockTokens = store.layout.blockTokens();
        return Arrays.asList(new ChainKeys().chain(root(tenant), tokens, 0, blockTokens, tokens.length / blockTokens));
    }

    // ------------------------------------------------------------------------------------------------------- peers

    /** Whether the block is here now; it may go at any time. No use of it, and nothing is counted. */
    public boolean contains(BlockKey key) {
        return store.index.find(key) != ChainIndex.ABSENT;
    }

    /** Holds a block in place for somebody who reads it from outside; null when it is not here. */
    public @Nullable PinnedBlock pin(BlockKey key) {
        handles.enter();
        try {
            int slot = store.leaseByKey(key);
            return slot == BlockSlab.NONE ? null : pinned(slot);
        } finally {
            handles.leave();
        }
    }

    /**
     * Pins a block, and with it all before it in its chain: it is not evicted, nor taken off the SSD, until {@link #unpin}. A block has one hard pin, however
     * often it is asked for, so that a request may be repeated; it ends with the pool. Blocks of any tenant: a key is
     * made with its tenant's salt, so only who has that can name it.
     *
     * @return DONE, UNCHANGED when it has a hard pin already, or ABSENT
     */
    public BlockOutcome pinHard(BlockKey key) {
        handles.enter(); // may free memory, whose headers it writes
        try {
            return operations.pinHard(key);
        } finally {
            handles.leave();
        }
    }

    /**
     * Pins a block until {@code time} from now, by the pool's monotonic clock: it is not evicted from memory until then. A pin that lasts longer already
     * stays as it is.
     *
     * @param time above 0, at most 365 days
     * @return DONE or ABSENT
     * @throws MooncakeException INVALID_ARGUMENT naming a time that is null, zero, negative or too long
     */
    public BlockOutcome pinSoft(BlockKey key, @Nullable Duration time) {
        handles.enter(); // may free memory, whose headers it writes
        try {
            return operations.pinSoft(key, time);
        } finally {
            handles.leave();
        }
    }

    /**
     * Takes the pins off a block, hard and soft.
     *
     * @return DONE, UNCHANGED when it has none, or ABSENT
     */
    public BlockOutcome unpin(BlockKey key) {
        handles.enter(); // may free memory, whose headers it writes
        try {
            return operations.unpin(key);
        } finally {
            handles.leave();
        }
    }

    /**
     * Removes a block and those that follow it, whose tokens make no sense without it. No look-up finds them from then on. Who holds a lease or a pin of a
     * peer on one keeps its bytes, and may go on to read them, until that ends; then the memory is free. What an open writer adds behind a removed
     * block is not stored. Soft pins end; a hard pin refuses it. Takes the pool's lock for as long as the blocks take, some microseconds each.
     *
     * @param cause told to listeners
     * @return DONE, ABSENT, or PINNED when a hard pin holds any of them: nothing is removed then
     */
    public BlockOutcome remove(BlockKey key, RemovalCause cause) {
        handles.enter(); // frees memory, whose headers it writes
        try {
            BlockOutcome outcome = operations.remove(key, cause, KeyedOperations.Below.NOTHING);
            store.events.drain();
            return outcome;
        } finally {
            handles.leave();
        }
    }

    /**
     * Limits what {@code tenant} may have of this pool and of the SSD below it. At its limit the least worthy of its own blocks gives way to a new one,
     * and where none can go the new one is refused; never another tenant's block goes for it. What it has above a new limit goes at once, as far as
     * nobody holds it, the rest when it is released; on the SSD, when it is written to next. Without memory for all, tenants below their limits still compete by the pool's policy.
     */
    public void limit(Tenant tenant, TenantQuota quota) {
        handles.enter(); // evicting reads headers
        try {
            store.limit(tenant.name(), quota);
        } finally {
            handles.leave();
        }
    }

    /** What {@code tenant} has now, without a walk. */
    public TenantUse use(Tenant tenant) {
        return store.accounts.use(tenant.name());
    }

    /** What each tenant has that ever stored something here, in no order. */
    public List<TenantUse> uses() {
        return store.accounts.all();
    }

    /** Whether a hard pin holds the block now. */
    public boolean isPinnedHard(BlockKey key) {
        return operations.isPinnedHard(key);
    }

    private StorePin pinned(int slot) {
        store.touch(slot, store.nanoClock.getAsLong());
        StorePin pin = new StorePin(this, slot);
        try {
            handles.open(pin, StorePin.KIND);
        } catch (MooncakeException e) {
            store.pinned(slot, -1);
            store.release(slot);
            throw e;
        }
        return pin;
    }

    /** Whether header and every layer of {@code block} still give their checksums. Reads the whole block. */
    public boolean verify(PinnedBlock block) {
        if (!(block instanceof StorePin pin) || !pin.open()) {
            throw MooncakeException.invalid("block", block, "an open pin of pool " + name);
        }
        return BlockDescriptor.problem(store.header(pin.slot()), store.layout) == null
                && Arrays.equals(store.checksums(pin.slot()), pin.layerChecksums());
    }

    /**
     * Whether {@code offset..offset+length} of the region lies in the payload of one sealed block of {@code generation}. For the guard of a
     * transfer engine: no allocation, no lock, also after close.
     */
    public boolean isCurrent(long offset, long length, long generation) {
        return store.slab.isCurrent(offset, length, generation);
    }

    /**
     * Where the generation of the block whose payload holds {@code offset} lies in the region, little-endian and 8-aligned, for readers
     * that map the region: it changes before a byte of the payload does. -1 when no payload is there. No allocation, also after close.
     */
    public long generationOffset(long offset) {
        long header = store.slab.headerOffset(offset);
        return header < 0 ? -1 : header + BlockDescriptor.generationOffset();
    }

    /**
     * Memory for a block to be fetched from a peer.
     *
     * @param key what it is to be
     * @param parent the block before it, or the tenant's root
     * @param depth index in the chain
     * @param tokens its own tokens, {@code blockTokens} of them; copied
     * @param tenant whose block it is
     * @return null when every leaf is leased, or the tenant's quota is used up by blocks that can't go: the policy is not asked whether it is worth the place, since it is needed now
     */
    public @Nullable IncomingBlock beginIncoming(
            BlockKey key, BlockKey parent, int depth, int[] tokens, Tenant tenant) {
        return beginIncoming(key, parent, depth, tokens, tenant, null);
    }

    /**
     * The same, waiting for memory that is held by others, in the order in which they came.
     *
     * @param deadline until when; null: not at all
     * @return null when there was none by then
     */
    public @Nullable IncomingBlock beginIncoming(
            BlockKey key, BlockKey parent, int depth, int[] tokens, Tenant tenant, @Nullable Deadline deadline) {
        prompts.requireValid(tokens);
        if (tokens.length != store.layout.blockTokens()) {
            throw MooncakeException.invalid("tokens.length", tokens.length, "" + store.layout.blockTokens());
        }
        if (depth < 0 || depth >= MAX_PROMPT_TOKENS) {
            throw MooncakeException.invalid("depth", depth, "0.." + (MAX_PROMPT_TOKENS - 1));
        }
        handles.enter(); // evicting reads headers
        try {
            int slot = store.allocate(store.accounts.of(tenant.name()), deadline);
            return slot < 0 ? null : incoming(slot, key, parent, depth, tokens);
        } finally {
            handles.leave();
        }
    }

    private StoreIncoming incoming(int slot, BlockKey key, BlockKey parent, int depth, int[] tokens) {
        StoreIncoming incoming = new StoreIncoming(this, slot, key, parent, depth, tokens, () -> true);
        try {
            handles.open(incoming, StoreIncoming.KIND);
        } catch (MooncakeException e) {
            store.abandon(slot);
            throw e;
        }
        return incoming;
    }

    /** Adds a listener of what is stored and removed from now on. */
    public void addListener(BlockListener listener) {
        store.events.add(listener);
    }

    /** Ends {@link #addListener}; an event that is being delivered may still arrive. */
    public void removeListener(BlockListener listener) {
        store.events.remove(listener);
    }

    /**
     * Shows every block at one moment in the order of events: listeners have been told everything before it when {@code consumer} is called,
     * and nothing after it until {@code consumer} is done. Not to be called by a listener.
     */
    public void forEachBlock(Consumer<StoredBlock> consumer) {
        forEachView(view -> consumer.accept(view.block()));
    }

    /** The same with what operators want to know. */
    public void forEachView(Consumer<BlockView> consumer) {
        handles.enter();
        try {
            store.snapshot(views -> views.forEach(consumer));
        } finally {
            handles.leave();
        }
    }

    /**
     * Shows the blocks of up to {@code limit} slots, without the pool's lock and without a copy. A block that is there during the whole of a walk over all
     * pages is shown once; one that comes or goes meanwhile may be missed, or shown twice if it is stored again; what is shown belongs together. It is no
     * use of the blocks, but each stays where it is while it is shown.
     *
     * <pre>{@code
     * for (int at = 0; at != LocalKvPool.WALK_END; at = pool.forEachSlot(at, 1024, visitor)) {}
     * }</pre>
     *
     * @param from 0 for the first page, then what the page before returned
     * @param limit slots to look at, at least 1
     * @param visitor may call the pool; must not keep its argument
     * @return where the next page begins, or {@link #WALK_END}
     */
    public int forEachSlot(int from, int limit, Consumer<HeldBlock> visitor) {
        int slots = store.slab.slots();
        if (from < 0 || from > slots) {
            throw MooncakeException.invalid("from", from, "0.." + slots);
        }
        if (limit < 1) {
            throw MooncakeException.invalid("limit", limit, "at least 1");
        }
        int to = (int) Math.min(slots, (long) from + limit);
        handles.enter();
        try {
            store.forEachSlot(from, to, visitor);
        } finally {
            handles.leave();
        }
        return to == slots ? WALK_END : to;
    }

    /** Counters now. */
    public PoolStatistics stats() {
        Map<MissReason, Long> reasons = new EnumMap<>(MissReason.class);
        misses.forEach((reason, count) -> reasons.put(reason, count.sum()));
        return new PoolStatistics(
                store.index.size(),
                store.slab.slots(),
                store.slab.freeSlots(),
                store.layout.payloadBytes(),
                store.slab.strideBytes(),
                store.stored(),
                store.evicted(),
                store.removed(),
                store.allocationFailures(),
                store.notAdmitted(),
                lookups.sum(),
                requestedTokens.sum(),
                localTokens.sum(),
                remoteTokens.sum(),
                reasons,
                handles.count(),
                store.events.errors());
    }

    /**
     * Ends the pool; idempotent. What it handed out stays valid until closed.
     *
     * @throws MooncakeException ILLEGAL_STATE under leak debugging when something is still open; the pool is closed nevertheless
     */
    @Override
    public void close() {
        String report = handles.count() == 0 ? null : handles.report();
        if (!handles.closePool()) {
            return;
        }
        store.room.close();
        store.events.append(BlockListener::onClosed);
        store.events.drain();
        if (report != null) {
            if (handles.debug()) {
                throw new MooncakeException(Code.ILLEGAL_STATE, report);
            }
            LOG.warn("{}", report);
        }
    }

    // ------------------------------------------------------------------------------------------------------- inside

    BlockStore store() {
        return store;
    }

    OpenWriters writers() {
        return writers;
    }

    KeyedOperations operations() {
        return operations;
    }

    OpenHandles handles() {
        return handles;
    }

    SafetyChecks checks() {
        return checks;
    }

    void countLookup(int requested, int local, int remote, MissReason reason) {
        lookups.increment();
        requestedTokens.add(requested);
        localTokens.add(local);
        remoteTokens.add(remote);
        LongAdder counter = misses.get(reason);
        if (counter != null) {
            counter.increment();
        }
    }
}
