// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.index.ChainIndex;
import io.mooncake.memory.index.ChainIndex.Insert;
import io.mooncake.memory.policy.Candidates;
import io.mooncake.memory.policy.EvictionPolicy;
import io.mooncake.memory.policy.Request;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/**
 * Slab, index, policy and events of one pool, kept in step.
 *
 * <p>Allocating a free slot, leasing and releasing take no lock. Publishing and evicting change index, policy and event queue together under
 * {@code change}; checksums are computed and listeners are called outside of it. The index holds slot and generation of each block. Between
 * finding a block and leasing it, the slot may have got another one: so a lease is taken on that generation only, in one compare-and-set.
 *
 * <p>The policy knows a block by the first word of its key. It chooses among leaves: a block that another cached one follows stays, so that no
 * chain ever gets a hole from an eviction.
 */
final class BlockStore {
    /** No slot: the block is not worth one. */
    static final int REFUSED = -2;

    /** No slot: the tenant has all that it may have, and nothing of its own can go. */
    static final int OVER_QUOTA = -4;

    /** Of its own blocks that are leased just when they are to go. */
    private static final int OWN_TRIES = 4;

    final BlockLayout layout;
    final BlockSlab slab;
    final ChainIndex index;
    final BlockEvents events = new BlockEvents();
    final RoomQueue room = new RoomQueue();
    final LongSupplier nanoClock;

    private final EvictionPolicy policy;
    private final Candidates candidates;
    /** Whether a block may be refused by the policy; not where another tier has room for what this one would refuse. */
    private volatile boolean selective = true;

    /** Whether a tenant has more than it may, since some of that was held when its limit was set. */
    private volatile boolean trimDue;

    private final boolean checkFound;
    final ReentrantLock change = new ReentrantLock();
    private final AtomicIntegerArray pins;
    private final AtomicLongArray hits;
    final TenantAccounts accounts;

    /** Made when it is first needed. */
    private @Nullable ByteBuffer waste;

    private final LongAdder stored = new LongAdder();
    private final LongAdder evicted = new LongAdder();
    private final LongAdder removed = new LongAdder();
    private final LongAdder allocationFailures = new LongAdder();
    private final LongAdder notAdmitted = new LongAdder();

    BlockStore(
            BlockLayout layout,
            BlockSlab slab,
            ChainIndex index,
            EvictionPolicy policy,
            LongSupplier nanoClock,
            boolean checkFound) {
        this.layout = layout;
        this.slab = slab;
        this.index = index;
        this.nanoClock = nanoClock;
        this.checkFound = checkFound;
        this.policy = policy;
        candidates = new SlabCandidates(slab, index::isFollowed, nanoClock);
        pins = new AtomicIntegerArray(slab.slots());
        hits = new AtomicLongArray(slab.slots());
        accounts = new TenantAccounts(slab.slots(), slab.strideBytes());
    }

    // ------------------------------------------------------------------------------------------------------- hold

    /** Leases the block {@code id} that the index gave; false when it is not there any more. */
    boolean lease(long id) {
        int slot = ChainIndex.slot(id);
        return checkFound ? slab.lease(slot, ChainIndex.generation(id)) : slab.lease(slot);
    }

    /** Finds and leases {@code key}; the slot, or {@link BlockSlab#NONE}. */
    int leaseByKey(BlockKey key) {
        long id = index.find(key);
        if (id == ChainIndex.ABSENT || !lease(id)) {
            return BlockSlab.NONE;
        }
        int slot = ChainIndex.slot(id);
        if (checkFound && !BlockDescriptor.hasKey(slab.headerAddress(slot), key)) {
            release(slot);
            return BlockSlab.NONE;
        }
        return slot;
    }

    void release(int slot) {
        TenantAccount owner = accounts.owner(slot); // before: it may be another's at once
        switch (slab.states().release(slot)) {
            case HELD -> {}
            case IDLE -> {
                policy.released(slot);
                trimIfDue(slot, owner);
                room.wake(owner);
            }
            // It was removed while this reader held it.
            case DRAINED -> abandon(slot);
        }
    }

    void touch(int slot, long nanos) {
        policy.touch(slot, nanos);
    }

    void leaseEnded(int slot, long nanos) {
        policy.leaseEnded(slot, nanos);
    }

    void hit(int slot, long nanos) {
        hits.getAndIncrement(slot);
        policy.touch(slot, nanos);
    }

    void pinned(int slot, int change) {
        pins.addAndGet(slot, change);
    }

    ByteBuffer header(int slot) {
        return BlockDescriptor.header(slab.headerAddress(slot), layout);
    }

    // ------------------------------------------------------------------------------------------------------- store

    /**
     * A slot to fill for {@code account}. At its limit the least worthy of its own blocks goes; else, where no slot is free, the one that the policy
     * chooses.
     *
     * @param deadline until when to wait for room, in the order in which others came; null: not at all
     * @return {@link BlockSlab#NONE} when no block can go: every leaf is held; {@link #OVER_QUOTA} when none of its own can
     */
    int allocate(TenantAccount account, @Nullable Deadline deadline) {
        return allocate(account, false, 0, deadline);
    }

    /**
     * The same for a block that may be left out.
     *
     * @param name of the block: the first word of its key
     * @return {@link #REFUSED} also, when it is not worth the place of the one that would go
     */
    int allocateFor(long name, TenantAccount account, @Nullable Deadline deadline) {
        return allocate(account, selective, name, deadline);
    }

    private int allocate(TenantAccount account, boolean refusable, long name, @Nullable Deadline deadline) {
        // Who waits does so behind those who wait already for what it needs.
        boolean queues = deadline != null && room.isWaitedFor(account) && !deadline.expired();
        int slot = queues ? BlockSlab.NONE : tryAllocate(account, refusable, name);
        if (slot < 0 && slot != OVER_QUOTA && account.waiting > 0) {
            room.wake(account); // the place of its quota that was taken in vain
        }
        events.drain();
        if (deadline != null && (slot == BlockSlab.NONE || slot == OVER_QUOTA) && (queues || !deadline.expired())) {
            slot = room.await(account, slot, () -> tryAllocate(account, refusable, name), events::drain, deadline);
        }
        if (slot >= 0) {
            accounts.own(slot, account);
            hits.set(slot, 0);
        } else if (slot == BlockSlab.NONE) {
            allocationFailures.increment();
        } else if (slot == OVER_QUOTA) {
            account.refused.increment();
        }
        return slot;
    }

    /** The caller owes listeners a {@code drain}. */
    private int tryAllocate(TenantAccount account, boolean refusable, long name) {
        return account.takeDram() ? anySlot(account, refusable, name) : ownSlot(account);
    }

    private int anySlot(TenantAccount account, boolean refusable, long name) {
        int slot = slab.allocate();
        if (slot != BlockSlab.NONE) {
            return slot;
        }
        change.lock();
        try {
            slot = slab.allocate();
            if (slot == BlockSlab.NONE && refusable && !policy.admits(name, candidates)) {
                notAdmitted.increment();
                slot = REFUSED;
            } else if (slot == BlockSlab.NONE) {
                slot = evict();
            }
        } finally {
            change.unlock();
        }
        if (slot < 0) {
            account.giveDram();
        }
        return slot;
    }

    /** The place of another block of the account's, which stays taken. */
    private int ownSlot(TenantAccount account) {
        int slot;
        change.lock();
        try {
            while (account.isOverDram() && (slot = evictOwn(account)) != BlockSlab.NONE) {
                abandon(slot);
            }
            slot = evictOwn(account);
        } finally {
            change.unlock();
        }
        return slot == BlockSlab.NONE ? OVER_QUOTA : slot;
    }

    /** From now on {@code tenant} may have no more than {@code quota}: what can go of what it has above that goes at once. */
    void limit(String tenant, TenantQuota quota) {
        accounts.limit(tenant, quota);
        TenantAccount account = accounts.of(tenant);
        change.lock();
        try {
            // First: who releases a block after it was looked at here must see it.
            trimDue = true;
            int slot;
            while (account.isOverDram() && (slot = evictOwn(account)) != BlockSlab.NONE) {
                abandon(slot);
            }
            trimDue = accounts.anyOver();
        } finally {
            change.unlock();
        }
        events.drain();
        room.wake(account); // its limit may have been raised
    }

    /**
     * Takes the block in {@code slot}, which nobody holds any more, from {@code owner} if that has more than it may, and then those before it. What else
     * could go has gone when the limit was set, or with its own release; but for a soft pin that has ended by its time, which is seen at the next
     * allocation.
     */
    void trimIfDue(int slot, @Nullable TenantAccount owner) {
        if (!trimDue || owner == null || !owner.isOverDram()) {
            return;
        }
        change.lock();
        try {
            long now = nanoClock.getAsLong();
            int next = slot;
            while (next != BlockSlab.NONE
                    && accounts.owner(next) == owner
                    && owner.isOverDram()
                    && canGo(next, now)
                    && slab.startEviction(next, now)) {
                policy.removed(next);
                int before = vacate(next, RemovalCause.QUOTA);
                abandon(next);
                next = before;
            }
            trimDue = owner.isOverDram() || accounts.anyOver();
        } finally {
            change.unlock();
        }
        if (!change.isHeldByCurrentThread()) {
            events.drain();
        }
    }

    /** Tells the policy of a request. While nothing is stored nobody else hears them, and the next who stores should not have to hear all. */
    void announce(Request request) {
        if (policy.announce(request) && change.tryLock()) {
            try {
                policy.hear();
            } finally {
                change.unlock();
            }
        }
    }

    /** From now on the policy refuses no block. */
    void admitAll() {
        selective = false;
    }

    /** Ends {@link #admitAll}. */
    void admitByPolicy() {
        selective = true;
    }

    /**
     * What a place for block {@code key} is worth to the policy, in whatever tier it is: {@link EvictionPolicy#worth}. Takes the change lock,
     * so not to be called by who holds a lock that a listener of {@code events} takes while it has this one; listeners are called without it.
     *
     * @param lastUseNanos when it was last used, of {@code nanoClock}
     */
    double worth(BlockKey key, long lastUseNanos) {
        change.lock();
        try {
            return policy.worth(key.word0(), lastUseNanos);
        } finally {
            change.unlock();
        }
    }

    /** Under the change lock: a slot without a block and without an owner, filling. */
    private int evict() {
        int slot = policy.evict(candidates);
        if (slot != BlockSlab.NONE) {
            vacate(slot, RemovalCause.EVICTED);
            TenantAccount owner = accounts.owner(slot);
            accounts.give(slot);
            if (owner != null && owner.waiting > 0) {
                room.wake(owner);
            }
        }
        return slot;
    }

    /** Under the change lock: the slot of the least worthy block of the account's, whose it stays, filling. */
    private int evictOwn(TenantAccount account) {
        long now = nanoClock.getAsLong();
        for (int i = 0; i < OWN_TRIES; i++) {
            int slot = accounts.leastWorthy(account, policy, own -> canGo(own, now));
            if (slot == BlockSlab.NONE) {
                return slot;
            }
            if (slab.startEviction(slot, now)) {
                policy.removed(slot);
                vacate(slot, RemovalCause.QUOTA);
                return slot;
            } // else somebody has just leased it
        }
        return BlockSlab.NONE;
    }

    private boolean canGo(int slot, long now) {
        return slab.references(slot) == 0
                && slab.states().hardPins(slot) == 0
                && !slab.states().isSoftPinned(slot, now)
                && !index.isFollowed(slot);
    }

    /** Under the change lock: takes the block out that is being evicted; the slot is filling then. The slot of the block before it, if that is a leaf now. */
    private int vacate(int slot, RemovalCause cause) {
        BlockKey key = BlockDescriptor.key(header(slot));
        int exposed = index.remove(slot);
        if (exposed != BlockSlab.NONE) {
            policy.leaf(exposed);
        }
        accounts.removed(slot);
        gone(key, slab.generation(slot), cause);
        BlockDescriptor.retract(slab.headerAddress(slot));
        slab.recycle(slot);
        evicted.increment();
        return exposed;
    }

    /** Under the change lock: tells that a block has left the index. */
    private void gone(BlockKey key, long generation, RemovalCause cause) {
        if (events.wanted()) {
            events.append(listener -> listener.onRemoved(key, generation, cause));
        }
    }

    /**
     * Takes the block in {@code slot}, which none follows, from everybody who does not hold it. Under the change lock; the block is sealed and has no
     * hard pin. Its memory is free at once, or with its last reader.
     */
    void remove(int slot, RemovalCause cause) {
        BlockKey key = index.key(slot);
        long generation = slab.generation(slot);
        policy.removed(slot);
        int exposed = index.remove(slot);
        if (exposed != BlockSlab.NONE) {
            policy.leaf(exposed);
        }
        accounts.removed(slot);
        gone(key, generation, cause);
        removed.increment();
        // Last: no reference can be added any more, and the slot may have another block at once.
        if (slab.take(slot)) {
            abandon(slot);
        } else if (exposed != BlockSlab.NONE) {
            room.wake(accounts.owner(exposed));
        }
    }

    /** Address of a payload that nobody reads: for a writer whose block is there already. One for all of them. */
    synchronized long waste() {
        if (waste == null) {
            waste = ByteBuffer.allocateDirect(layout.payloadBytes());
        }
        return MemoryUtil.getByteBufferAddress(waste);
    }

    /** Gives a slot back that was never sealed, or whose block has gone. */
    void abandon(int slot) {
        BlockDescriptor.retract(slab.headerAddress(slot));
        TenantAccount owner = accounts.owner(slot);
        accounts.give(slot);
        slab.free(slot);
        room.wake(owner);
    }

    /** CRC32C of each layer of the payload in {@code slot}. */
    int[] checksums(int slot) {
        int[] crcs = new int[layout.layers()];
        for (int layer = 0; layer < crcs.length; layer++) {
            crcs[layer] = BlockDescriptor.layerCrc(slab.payloadAddress(slot), layout, layer);
        }
        return crcs;
    }

    /**
     * What became of a filled slot.
     *
     * @param slot that has the block of the key, on which the caller holds one reference; {@link BlockSlab#NONE} when it is neither ADDED nor EXISTS
     */
    record Published(Insert outcome, int slot) {}

    /**
     * Seals the filled {@code slot} and indexes it. When the key is there already, or no node is free, the slot goes back. A block that is there
     * already is leased under the lock: it may not go before the caller has it, who may be about to store what follows it.
     *
     * @param crcs of its layers
     * @param wanted asked under the lock: false when something was removed meanwhile, without which this one is not to be stored; CONFLICT then
     */
    Published publish(
            int slot,
            int[] crcs,
            BlockKey key,
            BlockKey parent,
            int depth,
            int[] tokens,
            int tokensOffset,
            BooleanSupplier wanted) {
        ByteBuffer header = header(slot);
        BlockDescriptor.begin(header, layout, slab.generation(slot), key, parent, depth, tokens, tokensOffset);
        for (int layer = 0; layer < crcs.length; layer++) {
            BlockDescriptor.layerWritten(header, layer, crcs[layer]);
        }
        BlockDescriptor.seal(header, layout);
        policy.touch(slot, nanoClock.getAsLong());
        Insert outcome;
        int held = BlockSlab.NONE;
        change.lock();
        try {
            long id = ChainIndex.id(slot, slab.generation(slot));
            outcome = wanted.getAsBoolean()
                    ? index.insert(parent, depth == 0, key, tokens, tokensOffset, id)
                    : Insert.CONFLICT;
            if (outcome == Insert.EXISTS) {
                held = leaseByKey(key);
            } else if (outcome == Insert.ADDED) {
                held = slot;
                // Sealed last, so that nobody can hold a slot that is not indexed and goes back; until here look-ups
                // miss it.
                slab.seal(slot);
                accounts.stored(slot);
                policy.stored(slot, key.word0(), depth == 0 ? key.word0() : parent.word0(), !index.isFollowed(slot));
                if (events.wanted()) {
                    StoredBlock block = describe(slot);
                    events.append(listener -> listener.onStored(block, HeldIn.DRAM));
                }
            }
        } finally {
            change.unlock();
        }
        if (outcome == Insert.ADDED) {
            stored.increment();
            events.drain();
        } else {
            abandon(slot);
        }
        return new Published(outcome, held);
    }

    // ------------------------------------------------------------------------------------------------------- look

    /** What is in a slot that is leased, or that cannot change under the change lock. */
    StoredBlock describe(int slot) {
        ByteBuffer header = header(slot);
        return new StoredBlock(
                BlockDescriptor.key(header),
                BlockDescriptor.parent(header),
                BlockDescriptor.depth(header),
                BlockDescriptor.tokens(header, layout),
                slab.generation(slot),
                tenant(slot));
    }

    String tenant(int slot) {
        return accounts.tenant(slot);
    }

    /** All blocks at one moment in the order of events; {@code task} gets them in that order too, before this returns. */
    void snapshot(Consumer<List<BlockView>> task) {
        List<BlockView> blocks = new ArrayList<>();
        Runnable delivered;
        change.lock();
        try {
            long now = nanoClock.getAsLong();
            index.forEachSlot(slot -> blocks.add(view(slot, now)));
            delivered = events.appendTask(() -> task.accept(blocks));
        } finally {
            change.unlock();
        }
        events.drain();
        delivered.run();
    }

    /** Under the change lock an indexed block stays what it is: eviction takes the same lock. */
    private BlockView view(int slot, long now) {
        return new BlockView(
                describe(slot),
                "DRAM",
                layout.payloadBytes(),
                hits.get(slot),
                Math.max(0, now - policy.lastUse(slot)),
                slab.references(slot),
                isPinned(slot, now));
    }

    long hits(int slot) {
        return hits.get(slot);
    }

    /** Shows the blocks in slots {@code from..to-1}, each held while it is shown. */
    void forEachSlot(int from, int to, Consumer<HeldBlock> visitor) {
        SlotBlock block = new SlotBlock(this);
        for (int slot = from; slot < to; slot++) {
            if (slab.lease(slot)) {
                try {
                    visitor.accept(block.of(slot, HeldIn.DRAM));
                } finally {
                    release(slot);
                }
            }
        }
    }

    /** Whether a peer's pin, a hard or a soft one holds the block. */
    boolean isPinned(int slot, long now) {
        return pins.get(slot) > 0
                || slab.states().hardPins(slot) > 0
                || slab.states().isSoftPinned(slot, now);
    }

    long stored() {
        return stored.sum();
    }

    long evicted() {
        return evicted.sum();
    }

    long removed() {
        return removed.sum();
    }

    long allocationFailures() {
        return allocationFailures.sum();
    }

    long notAdmitted() {
        return notAdmitted.sum();
    }

    EvictionPolicy policy() {
        return policy;
    }
}
