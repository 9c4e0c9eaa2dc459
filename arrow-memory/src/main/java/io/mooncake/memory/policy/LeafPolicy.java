// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What all policies share: only leaves are candidates, leased ones are out of the way until their last lease ends, and what other threads
 * note is heard under the change lock.
 *
 * <pre>
 *   out --leaf--> queued --evict: goes, or is no leaf--> out
 *                 queued --evict: can't go, not for a lease--> queued, tried again by the next evict
 *                 queued --evict: leased--> parked --last release--> returned --next evict--> queued
 * </pre>
 *
 * <p>Parking and releasing meet in the usual crossing: the one sets parked and then reads the references, the other drops the reference and
 * then reads parked, both volatile, so at least one sees the other, and a compare-and-set lets one of them act.
 *
 * <p>Uses: {@code uses[slot]} counts those not heard yet; whoever makes it 1 also pushes the slot on {@code touched}. The hearer takes the
 * whole stack and sets each count to 0 <i>after</i> it has read the slot's link, so that a slot is never linked twice. All of it is bounded
 * by the slots, so no use is lost. A use is noted while its block is leased, and a leased block can't go: so a use that is heard is always
 * that of the block now in the slot. A policy for which the time of the last use is enough hears none.
 *
 * <p>Announced requests wait on a linked stack of at most {@value #MAX_WAITING}, whose chains together have no more blocks than there are
 * slots, or {@value #LEAST_WAITING_BLOCKS}.
 */
abstract class LeafPolicy implements EvictionPolicy {
    private static final int OUT = 0;
    private static final int QUEUED = 1;
    private static final int PARKED = 2;
    private static final int RETURNED = 3;
    private static final int MAX_WAITING = 4096;
    private static final int LEAST_WAITING_BLOCKS = 1 << 16;
    /** Some milliseconds of learning. */
    private static final int HEARING_DUE_BLOCKS = 2048;

    private final String name;
    private final int slots;
    private final boolean hearsUses;
    private final boolean hearsRequests;
    private final boolean[] present;
    private final AtomicLongArray lastUse;
    private final AtomicIntegerArray places;
    private final SlotStack returned;
    private final AtomicIntegerArray uses;
    private final SlotStack touched;
    private final AtomicReference<@Nullable Waiting> announced = new AtomicReference<>();
    private final AtomicInteger waiting = new AtomicInteger();
    private final AtomicLong waitingBlocks = new AtomicLong();
    /** Queued slots that could not go in this evict though nobody leases them. Guarded by the change lock, empty between calls. */
    private int[] setAside = new int[16];

    private int setAsideCount;

    private record Waiting(
            Request request, long nanos, @Nullable Waiting before) {}

    /**
     * @param hearsUses whether {@link #onUse} is wanted; if not, the time of the last use must do
     * @param hearsRequests whether {@link #onRequest} is wanted
     */
    LeafPolicy(String name, int slots, boolean hearsUses, boolean hearsRequests) {
        this.name = name;
        this.slots = slots;
        this.hearsUses = hearsUses;
        this.hearsRequests = hearsRequests;
        present = new boolean[slots];
        lastUse = new AtomicLongArray(slots);
        places = new AtomicIntegerArray(slots);
        returned = new SlotStack(slots);
        uses = new AtomicIntegerArray(hearsUses ? slots : 0);
        touched = new SlotStack(hearsUses ? slots : 0);
    }

    // ------------------------------------------------------------------------------------------------------- what
    // differs

    /** A block came; {@link #enqueue} follows if it is a leaf. */
    abstract void onStored(int slot, long block, long parent);

    /** The block in {@code slot} was used {@code count} times since it was last heard of. */
    abstract void onUse(int slot, int count);

    /** A request was announced at {@code nanos}. */
    void onRequest(Request request, long nanos) {}

    /** The time now, for what is announced; only asked of policies that hear requests. */
    long nanos() {
        return 0;
    }

    /** The block in {@code slot} goes; it is not queued any more. */
    abstract void onGone(int slot, boolean evicted);

    /** The block in {@code slot} may go from now on. */
    abstract void enqueue(int slot);

    /** It may not any more. */
    abstract void dequeue(int slot);

    /** The queued block that is to go next, or {@link #NONE}. Not dequeued by this. */
    abstract int next();

    // ------------------------------------------------------------------------------------------------------- any
    // thread

    @Override
    public final String name() {
        return name;
    }

    final int slots() {
        return slots;
    }

    @Override
    public final void touch(int slot, long nanos) {
        lastUse.setOpaque(slot, nanos);
        if (hearsUses && uses.getAndIncrement(slot) == 0) {
            touched.push(slot);
        }
    }

    @Override
    public void leaseEnded(int slot, long nanos) {
        lastUse.setOpaque(slot, nanos);
    }

    @Override
    public final boolean learns() {
        return hearsRequests;
    }

    @Override
    public final long lastUse(int slot) {
        return lastUse.getOpaque(slot);
    }

    @Override
    public final void released(int slot) {
        if (places.get(slot) == PARKED && places.compareAndSet(slot, PARKED, RETURNED)) {
            returned.push(slot);
        }
    }

    @Override
    public final boolean announce(Request request) {
        if (!hearsRequests) {
            return false;
        }
        int blocks = request.blocks().length;
        long sum = waitingBlocks.addAndGet(blocks);
        // One alone may be longer.
        boolean tooLong = sum > Math.max(slots, LEAST_WAITING_BLOCKS) && sum > blocks;
        if (waiting.incrementAndGet() > MAX_WAITING || tooLong) {
            unannounce(request);
            return true;
        }
        // It may be heard much later: when the next block is stored.
        long now = nanos();
        Waiting before;
        do {
            before = announced.get();
        } while (!announced.compareAndSet(before, new Waiting(request, now, before)));
        return sum > HEARING_DUE_BLOCKS;
    }

    private void unannounce(Request request) {
        waiting.decrementAndGet();
        waitingBlocks.addAndGet(-request.blocks().length);
    }

    // ------------------------------------------------------------------------------------------------------- change
    // lock

    @Override
    public boolean admits(long block, Candidates candidates) {
        return true;
    }

    @Override
    public double worth(long block, long lastUseNanos) {
        return 0;
    }

    @Override
    public final void stored(int slot, long block, long parent, boolean leaf) {
        hear();
        present[slot] = true;
        onStored(slot, block, parent);
        if (leaf) {
            leaf(slot);
        }
    }

    @Override
    public final void leaf(int slot) {
        if (places.compareAndSet(slot, OUT, QUEUED)) {
            enqueue(slot);
        }
    }

    @Override
    public final int evict(Candidates candidates) {
        try {
            return evictOnce(candidates);
        } finally {
            while (setAsideCount > 0) {
                enqueue(setAside[--setAsideCount]);
            }
        }
    }

    /** Tries no slot again but those that were leased and have come back. */
    private int evictOnce(Candidates candidates) {
        do {
            hear();
            int slot = evictLeaf(candidates);
            if (slot != NONE) {
                present[slot] = false;
                onGone(slot, true);
                return slot;
            }
        } while (!returned.isEmpty());
        return NONE;
    }

    private int evictLeaf(Candidates candidates) {
        for (int slot = peek(candidates); slot != NONE; slot = peek(candidates)) {
            dequeue(slot);
            if (candidates.startEviction(slot)) {
                places.set(slot, OUT);
                return slot;
            }
            if (candidates.references(slot) > 0) {
                park(slot, candidates);
            } else {
                setAside(slot);
            }
        }
        return NONE;
    }

    private void setAside(int slot) {
        if (setAsideCount == setAside.length) {
            setAside = Arrays.copyOf(setAside, 2 * setAsideCount);
        }
        setAside[setAsideCount++] = slot;
    }

    /** The queued block that is to go next and can; those before it that can't are out of the queue then. */
    final int peek(Candidates candidates) {
        for (int slot = next(); slot != NONE; slot = next()) {
            if (!candidates.isLeaf(slot)) {
                dequeue(slot);
                places.set(slot, OUT);
            } else if (candidates.references(slot) > 0) {
                dequeue(slot);
                park(slot, candidates);
            } else {
                return slot;
            }
        }
        return NONE;
    }

    private void park(int slot, Candidates candidates) {
        places.set(slot, PARKED);
        if (candidates.references(slot) == 0) {
            released(slot);
        }
    }

    @Override
    public final void removed(int slot) {
        do {
            hear(); // a slot that another thread is just returning becomes queued
        } while (places.get(slot) == RETURNED
                || !places.compareAndSet(slot, PARKED, OUT) && places.get(slot) == PARKED);
        if (places.get(slot) == QUEUED) {
            dequeue(slot);
            places.set(slot, OUT);
        }
        present[slot] = false;
        onGone(slot, false);
    }

    @Override
    public final void hear() {
        for (int slot = returned.takeAll(); slot != NONE; ) {
            int after = returned.after(slot);
            places.set(slot, QUEUED);
            enqueue(slot);
            slot = after;
        }
        if (hearsRequests) {
            hearRequests();
        }
        if (hearsUses) {
            for (int slot = touched.takeAllInOrder(); slot != NONE; ) {
                int after = touched.after(slot);
                int count = uses.getAndSet(slot, 0);
                if (present[slot]) {
                    onUse(slot, count);
                }
                slot = after;
            }
        }
    }

    private void hearRequests() {
        Waiting last = announced.get() == null ? null : announced.getAndSet(null);
        if (last == null) {
            return;
        }
        if (last.before == null) {
            unannounce(last.request);
            onRequest(last.request, last.nanos);
            return;
        }
        Waiting first = null;
        for (Waiting one = last; one != null; one = one.before) {
            first = new Waiting(one.request, one.nanos, first);
        }
        for (Waiting one = first; one != null; one = one.before) {
            unannounce(one.request);
            onRequest(one.request, one.nanos);
        }
    }
}
