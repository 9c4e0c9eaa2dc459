// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Which blocks a node has in memory, on its SSD or in both; what it tells others about them; and which one leaves the SSD next.
 *
 * <p>A block is <i>held</i> while either has it: listeners hear that it is stored when the first gets it, and that it is removed when the
 * last has lost it. What memory has is what its events said, in their order, so the two never disagree for longer than an event waits.
 *
 * <p>What leaves the SSD is what its policy says is worth least, as {@link TierLeaves} finds it, of the blocks that memory does not have and that
 * nothing on the SSD follows: so a chain gets shorter from its end, and never gets a hole. Blocks of one worth go by the time at which memory lost
 * them. Those that memory has as well, which are in use, go last. A block worth less than the one that would go for it is not written.
 *
 * <p>Threading: safe for all threads, one lock for a few instructions, or for one decision; listeners are called outside of it, in order.
 */
final class TierCatalog implements BlockListener {
    private static final class Entry extends TierLeaves.Leaf {
        final StoredBlock block;
        boolean inMemory;
        boolean onSsd;
        /** Whether it was not worth a place on the SSD. */
        boolean refused;
        /** Whether it gets one all the same, for what follows it. */
        boolean wanted;
        /** Whose quota it takes a place of while it is on the SSD. */
        @Nullable
        TenantAccount payer;
        /** Place in the list of the payer's. */
        private int own;
        /** Place in {@code held}. */
        private int at;
        /** Place among the children of the block before it, while it is on the SSD. */
        private int sibling;

        Entry(StoredBlock block) {
            this.block = block;
        }

        @Override
        BlockKey key() {
            return block.key();
        }
    }

    /** Pinned blocks that one search for a victim passes over. */
    private static final int PINNED_LOOKS = 64;

    /** A tenant's blocks that are compared when one of them has to go. */
    private static final int OWN_LOOKS = 64;

    /** Bytes of the Java heap that a block takes here, without its tokens: objects, and the cells of three maps. */
    static final int HEAP_BYTES = 460;

    private final BlockEvents events = new BlockEvents();
    private final Consumer<BlockKey> unwritten;
    private final LongSupplier nanoClock;
    private final Predicate<BlockKey> pinned;
    private final TenantAccount nobody;

    // Guarded by this.
    private final Map<BlockKey, Entry> entries = new HashMap<>();
    /** All of them, in no order: one that goes gives its place to the last. */
    private final List<Entry> held = new ArrayList<>();
    /** On the SSD alone, least recently used first. */
    private final LinkedHashMap<BlockKey, Entry> cold = new LinkedHashMap<>();
    /** On the SSD and in memory. */
    private final LinkedHashMap<BlockKey, Entry> warm = new LinkedHashMap<>();
    /** Blocks on the SSD by whose quota they take. */
    private final Map<TenantAccount, List<Entry>> owns = new HashMap<>();
    /** Blocks on the SSD by the block before them. */
    private final Map<BlockKey, List<Entry>> children = new HashMap<>();
    /** Those of {@code cold} that have none. */
    private final TierLeaves leaves;

    private boolean closed;
    private long lost;
    private final TierTransits transits = new TierTransits();
    /** What was removed while recovery goes on: what it finds behind it goes too. Null when there is no recovery. */
    private @Nullable Set<BlockKey> removedEarly;

    private int ownLooks;

    /**
     * @param unwritten told of each block that memory gets and the SSD does not have; must be quick
     * @param listeners hear what is held
     * @param worth of blocks; asked under the catalogue's lock
     * @param nanoClock by which {@code worth} counts
     * @param pinned whether a block of memory may not leave the SSD either; asked under the catalogue's lock
     * @param nobody pays for what an earlier life left
     */
    TierCatalog(
            Consumer<BlockKey> unwritten,
            List<BlockListener> listeners,
            TierLeaves.Worth worth,
            LongSupplier nanoClock,
            Predicate<BlockKey> pinned,
            TenantAccount nobody) {
        this.nobody = nobody;
        this.pinned = pinned;
        this.unwritten = unwritten;
        this.nanoClock = nanoClock;
        leaves = new TierLeaves(worth);
        listeners.forEach(events::add);
    }

    // ------------------------------------------------------------------------------------------------- memory

    @Override
    public void onStored(StoredBlock block) {
        boolean toWrite;
        synchronized (this) {
            Entry entry = entries.get(block.key());
            if (entry == null) {
                entry = add(block, HeldIn.DRAM);
            }
            entry.inMemory = true;
            toWrite = !entry.onSsd;
            if (removedEarly != null) {
                // It is there again, so that what follows it is no orphan.
                removedEarly.remove(block.key());
            }
            if (cold.remove(block.key()) != null) {
                warm.put(block.key(), entry);
                place(entry);
                moved(entry, HeldIn.DRAM_AND_SSD);
            }
        }
        events.drain();
        if (toWrite) {
            unwritten.accept(block.key());
        }
    }

    @Override
    public void onRemoved(BlockKey key, long generation) {
        onRemoved(key, generation, RemovalCause.EVICTED);
    }

    @Override
    public void onRemoved(BlockKey key, long generation, RemovalCause cause) {
        synchronized (this) {
            Entry entry = entries.get(key);
            if (entry != null && entry.onSsd) {
                entry.inMemory = false;
                entry.lastUseNanos = nanoClock.getAsLong();
                warm.remove(key);
                cold.put(key, entry);
                place(entry);
                moved(entry, HeldIn.SSD);
            } else if (entry != null) {
                lost += entry.refused || cause == RemovalCause.REMOVED ? 0 : 1;
                drop(key, entry, cause);
            }
        }
        events.drain();
    }

    // ---------------------------------------------------------------------------------------------------- SSD

    /**
     * The SSD has {@code block}.
     *
     * @param stillThere asked under the lock, for who looked before: nothing changes when it says no
     * @return what it said
     */
    boolean written(StoredBlock block, BooleanSupplier stillThere) {
        return written(block, null, stillThere);
    }

    /**
     * The same.
     *
     * @param payer has taken a place for it by {@link #takeRoom}, which is given back if it is not needed; null: nobody has
     */
    boolean written(StoredBlock block, @Nullable TenantAccount payer, BooleanSupplier stillThere) {
        boolean used = false;
        try {
            synchronized (this) {
                if (closed || !stillThere.getAsBoolean()) {
                    return false;
                }
                Entry entry = entries.get(block.key());
                if (entry == null) {
                    entry = add(block, HeldIn.SSD);
                }
                used = !entry.onSsd;
                if (used) {
                    if (payer == null) {
                        nobody.addSsd();
                    }
                    putOnSsd(entry, payer == null ? nobody : payer);
                }
            }
        } finally {
            if (payer != null && !used) {
                payer.giveSsd();
            }
        }
        events.drain();
        return true;
    }

    private void putOnSsd(Entry entry, TenantAccount payer) {
        StoredBlock block = entry.block;
        entry.onSsd = true;
        if (entry.inMemory) {
            moved(entry, HeldIn.DRAM_AND_SSD);
        }
        entry.refused = false;
        entry.wanted = false;
        entry.lastUseNanos = nanoClock.getAsLong();
        entry.payer = payer;
        List<Entry> own = owns.computeIfAbsent(payer, tenant -> new ArrayList<>());
        entry.own = own.size();
        own.add(entry);
        (entry.inMemory ? warm : cold).put(block.key(), entry);
        List<Entry> siblings = children.computeIfAbsent(block.parent(), parent -> new ArrayList<>(1));
        entry.sibling = siblings.size();
        siblings.add(entry);
        place(entry);
        place(entries.get(block.parent()));
    }

    private void endPayment(Entry entry) {
        TenantAccount payer = entry.payer;
        List<Entry> own = payer == null ? null : owns.get(payer);
        if (payer == null || own == null) {
            return;
        }
        Entry last = own.remove(own.size() - 1);
        if (last != entry) {
            own.set(entry.own, last);
            last.own = entry.own;
        }
        if (own.isEmpty()) {
            owns.remove(payer);
        }
        entry.payer = null;
        payer.giveSsd();
    }

    /**
     * Takes a place of {@code payer}'s quota for {@code block}. At its limit the least worthy of its own blocks leaves the SSD.
     *
     * @param remove takes one off, under the lock
     * @return whether {@code payer} has the place; if not, none of its blocks can go, and {@code block} is not to be written
     */
    boolean takeRoom(StoredBlock block, TenantAccount payer, Consumer<BlockKey> remove) {
        boolean taken = payer.takeSsd();
        while (!taken) {
            synchronized (this) {
                Entry victim = leastOf(payer, block.parent());
                if (victim == null) {
                    payer.refused.increment();
                    Entry entry = entries.get(block.key());
                    if (entry != null) {
                        entry.refused = true;
                        entry.wanted = false;
                    }
                    return false;
                }
                remove.accept(victim.key());
                forget(victim.key(), victim, RemovalCause.QUOTA);
            }
            events.drain();
            taken = payer.takeSsd();
        }
        return true;
    }

    /** Of some of the payer's blocks that none follows: one that memory does not have before one that it has, and of them the one of least worth. */
    private @Nullable Entry leastOf(TenantAccount payer, BlockKey parent) {
        List<Entry> own = owns.getOrDefault(payer, List.of());
        Entry least = null;
        double leastWorth = 0;
        int found = 0;
        // From the oldest place on, in turn.
        int from = own.isEmpty() ? 0 : Math.floorMod(ownLooks++, own.size());
        for (int i = 0; i < own.size() && found < OWN_LOOKS; i++) {
            Entry entry = own.get((from + i) % own.size());
            BlockKey key = entry.key();
            if (!children.containsKey(key) && !key.equals(parent) && !pinned.test(key)) {
                found++;
                double worth = leaves.worth(key, entry.lastUseNanos);
                boolean less = least == null
                        || !entry.inMemory && least.inMemory
                        || entry.inMemory == least.inMemory
                                && (worth < leastWorth
                                        || worth == leastWorth && entry.lastUseNanos < least.lastUseNanos);
                if (less) {
                    least = entry;
                    leastWorth = worth;
                }
            }
        }
        return least;
    }

    /**
     * The SSD does not have {@code key} any more.
     *
     * @param isGone asked under the lock, for who looked before or takes it out: nothing changes when it says no
     * @return what it said
     */
    boolean gone(BlockKey key, BooleanSupplier isGone) {
        synchronized (this) {
            if (!isGone.getAsBoolean()) {
                return false;
            }
            Entry entry = entries.get(key);
            if (entry != null && entry.onSsd) {
                forget(key, entry, RemovalCause.LOST);
            }
        }
        events.drain();
        return true;
    }

    /**
     * Removes a block, with all that follow it in memory and on the SSD, at one moment for all who copy between them. The caller owes the pool's listeners a
     * {@code drain}.
     *
     * @param memory the pool's
     * @param remove takes one off the SSD, under the lock; false when it was not there
     */
    BlockOutcome remove(BlockKey key, RemovalCause cause, KeyedOperations memory, Predicate<BlockKey> remove) {
        BlockOutcome outcome;
        synchronized (this) {
            outcome = memory.remove(key, cause, new Removal(cause, remove));
        }
        events.drain();
        return outcome;
    }

    /** The SSD's part in a removal, under both locks. */
    private final class Removal implements KeyedOperations.Below {
        private final RemovalCause cause;
        private final Predicate<BlockKey> remove;

        Removal(RemovalCause cause, Predicate<BlockKey> remove) {
            this.cause = cause;
            this.remove = remove;
        }

        @Override
        public List<BlockKey> behind(BlockKey key) {
            return children.getOrDefault(key, List.of()).stream()
                    .map(Entry::key)
                    .toList();
        }

        @Override
        public boolean remove(List<BlockKey> chain) {
            boolean any = false;
            for (int i = chain.size() - 1; i >= 0; i--) {
                BlockKey key = chain.get(i);
                transits.removed(key);
                // Whatever the catalogue knows: a record may be read before it is announced.
                any |= remove.test(key);
                Entry entry = entries.get(key);
                if (entry != null && entry.onSsd) {
                    forget(key, entry, cause);
                    any = true;
                }
            }
            if (removedEarly != null) {
                removedEarly.addAll(chain);
            }
            return any;
        }
    }

    /** From now on {@link #recovered} is told what an earlier life left. */
    synchronized void recoveryBegins() {
        removedEarly = new HashSet<>();
    }

    /** Ends {@link #recoveryBegins}. */
    synchronized void recoveryEnds() {
        removedEarly = null;
    }

    /**
     * The SSD has {@code block} from an earlier life. Where what it follows was removed since the start, it goes as well, unless it is pinned by now.
     *
     * @param isThere asked under the lock
     * @return whether it is held
     */
    boolean recovered(StoredBlock block, BooleanSupplier isThere, KeyedOperations memory, Predicate<BlockKey> remove) {
        synchronized (this) {
            boolean orphan = removedEarly != null && removedEarly.contains(block.parent()) && !onSsd(block.key());
            if (orphan
                    && memory.remove(block.key(), RemovalCause.REMOVED, new Removal(RemovalCause.REMOVED, remove))
                            != BlockOutcome.PINNED) {
                return false;
            }
        }
        return written(block, isThere);
    }

    /** Begins to write {@code key}; owes an {@link #end}. */
    synchronized TierTransits.Transit down(BlockKey key) {
        return transits.down(key);
    }

    /** Begins to read {@code key}, and owes an {@link #end}; null when it is being removed. */
    synchronized TierTransits.@Nullable Transit up(BlockKey key) {
        return transits.up(key);
    }

    /** The copy is over. */
    synchronized void end(TierTransits.Transit transit) {
        transits.end(transit);
    }

    /** {@code key} is to be written, whatever it is worth. */
    void want(BlockKey key) {
        boolean toWrite;
        synchronized (this) {
            Entry entry = entries.get(key);
            toWrite = false;
            if (entry != null && !entry.onSsd) {
                entry.wanted = true;
                toWrite = true;
            }
        }
        if (toWrite) {
            unwritten.accept(key);
        }
    }

    /** Gives back what tenants have of the SSD, which is no tier of the pool any more; nothing gets there from now on. */
    synchronized void close() {
        closed = true;
        for (List<Entry> own : List.copyOf(owns.values())) {
            List.copyOf(own).forEach(this::endPayment);
        }
    }

    /** The SSD has nothing any more. */
    void allGone() {
        synchronized (this) {
            for (Map<BlockKey, Entry> part : List.of(Map.copyOf(cold), Map.copyOf(warm))) {
                part.forEach((key, entry) -> forget(key, entry, RemovalCause.LOST));
            }
        }
        events.drain();
    }

    private void forget(BlockKey key, Entry entry, RemovalCause cause) {
        entry.onSsd = false;
        endPayment(entry);
        cold.remove(key);
        warm.remove(key);
        List<Entry> siblings = children.get(entry.block.parent());
        if (siblings != null) {
            Entry last = siblings.remove(siblings.size() - 1);
            if (last != entry) {
                siblings.set(entry.sibling, last);
                last.sibling = entry.sibling;
            }
            if (siblings.isEmpty()) {
                children.remove(entry.block.parent());
            }
        }
        place(entry);
        place(entries.get(entry.block.parent()));
        if (entry.inMemory) {
            moved(entry, HeldIn.DRAM);
        } else {
            drop(key, entry, cause);
        }
    }

    /** Puts a block among the leaves or takes it out, by what it is now. */
    private void place(@Nullable Entry entry) {
        if (entry != null) {
            leaves.set(entry, entry.onSsd && !entry.inMemory && !children.containsKey(entry.key()));
        }
    }

    /**
     * Whether {@code block} of memory is worth the place of the one that would go for it, and what it follows has one or may get one: of a chain
     * whose beginning was refused the rest would be of no use. Where it is worth it now and the beginning was not before, the beginning is asked
     * for again, and the block behind it: the answer is no for this time.
     */
    boolean admits(StoredBlock block) {
        List<BlockKey> again = new ArrayList<>(0);
        boolean admitted;
        synchronized (this) {
            Entry entry = entries.get(block.key());
            // A pin may come before memory's event of the block does.
            boolean wanted = entry != null && entry.wanted || pinned.test(block.key());
            admitted = wanted || isWorthIt(block) && follows(block, again);
            if (entry != null) {
                entry.refused = !admitted && again.isEmpty();
                entry.wanted |= !again.isEmpty();
            }
        }
        again.forEach(unwritten);
        return admitted;
    }

    private boolean isWorthIt(StoredBlock block) {
        Entry victim = victim();
        return victim == null
                || !leaves.has(victim)
                || leaves.worth(block.key(), nanoClock.getAsLong()) >= TierLeaves.lastWorth(victim);
    }

    /** Whether what {@code block} follows was not refused. Else {@code again} gets what has to be written before it, and the block itself, if memory has all of it. */
    private boolean follows(StoredBlock block, List<BlockKey> again) {
        List<Entry> refused = new ArrayList<>(0);
        StoredBlock last = block;
        while (last.depth() > 0) {
            Entry parent = entries.get(last.parent());
            if (parent == null || parent.refused && !parent.inMemory) {
                return false;
            }
            if (!parent.refused) {
                break;
            }
            refused.add(parent);
            last = parent.block;
        }
        for (int i = refused.size() - 1; i >= 0; i--) {
            Entry parent = refused.get(i);
            parent.refused = false;
            parent.wanted = true;
            again.add(parent.key());
        }
        if (!refused.isEmpty()) {
            again.add(block.key());
        }
        return refused.isEmpty();
    }

    /**
     * The block that may leave the SSD, taken out of what it has; null when it has none.
     *
     * @param remove takes it off the SSD, under the lock: nobody writes it again in between
     */
    @Nullable
    BlockKey takeVictim(Consumer<BlockKey> remove) {
        BlockKey key;
        synchronized (this) {
            Entry victim = victim();
            if (victim == null) {
                return null;
            }
            key = victim.key();
            remove.accept(key);
            forget(key, victim, RemovalCause.EVICTED);
        }
        events.drain();
        return key;
    }

    private @Nullable Entry victim() {
        Entry oldest = oldest();
        Entry least = (Entry) leaves.least(oldest);
        return least == null ? oldest : least;
    }

    /** Of those that memory does not have the one that it lost first, else any; and of that the end of its chain, unless that is pinned. */
    private @Nullable Entry oldest() {
        Map<BlockKey, Entry> from = cold.isEmpty() ? warm : cold;
        for (int i = 0; i < PINNED_LOOKS && !from.isEmpty(); i++) {
            BlockKey first = from.keySet().iterator().next();
            BlockKey key = first;
            for (List<Entry> next = children.get(key); next != null; next = children.get(key)) {
                key = next.get(next.size() - 1).key();
            }
            Entry end = entries.get(key);
            if (end == null || !pinned.test(key)) {
                return end;
            }
            // Others are looked at first the next time.
            from.put(first, from.remove(first));
        }
        return null;
    }

    // --------------------------------------------------------------------------------------------------- both

    private Entry add(StoredBlock block, HeldIn where) {
        Entry entry = new Entry(block);
        entries.put(block.key(), entry);
        entry.at = held.size();
        held.add(entry);
        if (events.wanted()) {
            events.append(listener -> listener.onStored(block, where));
        }
        return entry;
    }

    private void moved(Entry entry, HeldIn where) {
        if (events.wanted()) {
            StoredBlock block = entry.block;
            events.append(listener -> listener.onTierChanged(block.key(), block.generation(), where));
        }
    }

    private void drop(BlockKey key, Entry entry, RemovalCause cause) {
        entries.remove(key);
        Entry last = held.remove(held.size() - 1);
        if (last != entry) {
            held.set(entry.at, last);
            last.at = entry.at;
        }
        if (events.wanted()) {
            long generation = entry.block.generation();
            events.append(listener -> listener.onRemoved(key, generation, cause));
        }
    }

    /** What a walk shows. */
    record Page(List<StoredBlock> blocks, List<HeldIn> where, int next) {}

    /**
     * Up to {@code limit} blocks that are held.
     *
     * @param from 0 for the first page, then what the page before said
     */
    synchronized Page page(int from, int limit) {
        // From the end, so that what takes the place of another one was shown before.
        int end = from == 0 ? held.size() : Math.min(from, held.size());
        int begin = Math.max(0, end - limit);
        List<StoredBlock> blocks = new ArrayList<>(end - begin);
        List<HeldIn> where = new ArrayList<>(end - begin);
        for (int i = end - 1; i >= begin; i--) {
            Entry entry = held.get(i);
            blocks.add(entry.block);
            where.add(!entry.inMemory ? HeldIn.SSD : entry.onSsd ? HeldIn.DRAM_AND_SSD : HeldIn.DRAM);
        }
        return new Page(blocks, where, begin == 0 ? LocalKvPool.WALK_END : begin);
    }

    /** Whether the SSD has {@code key}. */
    synchronized boolean onSsd(BlockKey key) {
        Entry entry = entries.get(key);
        return entry != null && entry.onSsd;
    }

    /** Name of the tenant that stored {@code key}; empty when that is not known. */
    synchronized String tenant(BlockKey key) {
        Entry entry = entries.get(key);
        return entry == null ? "" : entry.block.tenant();
    }

    /** Blocks on the SSD. */
    synchronized int ssdBlocks() {
        return cold.size() + warm.size();
    }

    /** Blocks on the SSD that memory does not have. */
    synchronized List<StoredBlock> onlyOnSsd() {
        List<StoredBlock> blocks = new ArrayList<>(cold.size());
        cold.values().forEach(entry -> blocks.add(entry.block));
        return blocks;
    }

    /** Keys of all blocks on the SSD. */
    synchronized List<BlockKey> ssdKeys() {
        List<BlockKey> keys = new ArrayList<>(cold.keySet());
        keys.addAll(warm.keySet());
        return keys;
    }

    /** Blocks that memory gave up before the SSD had them. */
    synchronized long lost() {
        return lost;
    }
}
