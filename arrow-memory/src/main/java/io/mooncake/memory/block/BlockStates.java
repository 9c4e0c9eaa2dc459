// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * The state of every slot of a range of memory: who may touch it, and how long it stays. This class owns all transitions.
 *
 * <p>Each slot has one atomic word that decides everything about it:
 *
 * <pre>
 *   bits 63..24   generation, 40 bits: raised by one whenever the slot is freed, reused or opened again; wraps
 *   bits 23..21   state: 0 free, 1 filling, 2 sealed, 3 moving, 4 evicting, 5 absent
 *   bits 20..16   hard pins
 *   bits 15..0    references: leases, which are the read locks
 *
 *                    +-----------------------reopen (no references, no pins; next generation), by way of evicting
 *                    v                     |
 *   free --fill--> filling --seal-------> sealed --startMove (no hard pins)--> moving --finishMove--> evicting
 *                    |  ^                  ^  |  ^                               |                      |   |
 *                    |  |    lease, release+--+  +---------cancelMove------------+  lease, release      |   |
 *                    |  |                     +--startEviction (no references, no pins)---------------->+   |
 *                    |  +----------------------------------recycle (no references; next generation)-----+   |
 *                    +--free (next generation)--> free <---free (no references; next generation)------------+
 * </pre>
 *
 * <ul>
 *   <li><b>filling</b> is the write lock: one owner, who may write; nobody else sees the slot.
 *   <li><b>sealed</b>: the bytes never change; any number of readers.
 *   <li><b>moving</b>: a mover copies the bytes elsewhere; readers come and go as if it were sealed. When the copy is complete, the mover
 *       seals it in its new place, exchanges what leads readers to the slot (an index entry, a buffer's place) in one atomic store, and only
 *       then calls {@link #finishMove}. So a reader sees the old bytes or the new ones, which are equal and whole; a reader that found
 *       the old place but comes after finishMove is refused and looks again; a lease that was taken before keeps the old place, at
 *       its address, until it is released.
 *   <li><b>evicting</b>: no new readers. Those that are left after a move drain; with the last one the memory is its owner's.
 *   <li><b>absent</b>: there is no such slot now, since its memory is cut in another way. Only a free slot vanishes, and comes back free.
 * </ul>
 *
 * <p>Whoever wins a transition to filling, or to evicting without references, owns the slot's memory until the next transition; the volatile
 * update of the word publishes what was written there. A lease is one compare-and-set on the same word, so there is no moment in which a
 * block is both leased and going.
 *
 * <p>A <b>hard pin</b> keeps a sealed block where it is until it is taken off: it is in the word, so it excludes eviction and moves as
 * references do. A <b>soft pin</b> ends by time and lies beside the word. An eviction reads it, changes the state, and reads it again: whoever
 * extends a soft pin holds a lease meanwhile, so either the eviction failed for the lease, or it sees the new time and turns back. In that
 * moment a lease is refused as if the block had gone: a miss, never a wrong byte.
 *
 * <p>Where a caller can tell what the word is most likely to be, the update is tried on that at once, and what it found instead is looked at only
 * if it fails: a look before the update would wait for the update before it, which costs as much as half an update.
 *
 * <p>Threading: safe for all threads. No locks; no allocation but once, at the first soft pin.
 */
public final class BlockStates {
    /** Most references of a slot at once; one more is refused. */
    public static final int MAX_REFERENCES = (1 << 16) - 1;

    /** Most hard pins of a slot at once; one more is refused. */
    public static final int MAX_HARD_PINS = (1 << 5) - 1;

    /** What {@link #release} left behind. */
    public enum Release {
        /** Others hold the slot still. */
        HELD,
        /** Nobody holds the sealed block. */
        IDLE,
        /** It was the last reader of a block that has moved: the caller must {@link #free} or {@link #recycle} the slot. */
        DRAINED
    }

    /** Instead of a generation. */
    static final long NOT_FREE = -1;

    static final long FREE = 0;
    static final long FILLING = 1;
    static final long SEALED = 2;
    static final long MOVING = 3;
    static final long EVICTING = 4;
    static final long ABSENT = 5;

    private static final int PIN_SHIFT = 16;
    private static final int STATE_SHIFT = 21;
    private static final int GENERATION_SHIFT = 24;
    private static final long REFERENCES = MAX_REFERENCES;
    private static final long ONE_PIN = 1L << PIN_SHIFT;
    private static final long PINS = (long) MAX_HARD_PINS << PIN_SHIFT;
    private static final long STATE = 7L << STATE_SHIFT;
    private static final long HOLDS = PINS | REFERENCES;
    /** Set in sealed and moving alone. */
    private static final long LEASABLE = 2L << STATE_SHIFT;

    private static final String[] NAMES = {"free", "filling", "sealed", "moving", "evicting", "absent"};

    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

    /** An array itself: the one within an atomic array is looked for again after each update, which the next one would wait for. */
    private final long[] words;
    /** Nanoseconds of the caller's monotonic clock with bit 0 set, 0 for none; made at the first soft pin. */
    private volatile @Nullable AtomicLongArray softPins;

    /** All {@code slots} are absent, of generation 1. */
    public BlockStates(int slots) {
        words = new long[slots];
        for (int slot = 0; slot < slots; slot++) {
            words[slot] = word(1, ABSENT, 0);
        }
    }

    private long get(int slot) {
        return (long) WORD.getVolatile(words, slot);
    }

    private boolean update(int slot, long from, long to) {
        return WORD.compareAndSet(words, slot, from, to);
    }

    private long exchange(int slot, long from, long to) {
        return (long) WORD.compareAndExchange(words, slot, from, to);
    }

    // ------------------------------------------------------------------------------------------------- write, free

    /** Free to filling; false when it is not free. */
    boolean tryFill(int slot) {
        return tryFill(slot, 0) != NOT_FREE;
    }

    /**
     * Free to filling.
     *
     * @param guess the slot's generation if it is free as the caller left it; 0 when that is not known
     * @return its generation, or {@link #NOT_FREE}
     */
    long tryFill(int slot, long guess) {
        long free = word(guess, FREE, 0);
        long word = guess == 0 ? get(slot) : exchange(slot, free, free | FILLING << STATE_SHIFT);
        if (guess != 0 && word == free) {
            return guess;
        }
        return state(word) == FREE && update(slot, word, word | FILLING << STATE_SHIFT)
                ? word >>> GENERATION_SHIFT
                : NOT_FREE;
    }

    /** Absent to free. */
    void appear(int slot) {
        changeState(slot, ABSENT, FREE);
    }

    /** Free to absent; false when it is not free. */
    boolean tryVanish(int slot) {
        long word = get(slot);
        return state(word) == FREE && update(slot, word, word | ABSENT << STATE_SHIFT);
    }

    /** Whether the slot is free. */
    boolean isFree(int slot) {
        return state(get(slot)) == FREE;
    }

    /** Filling to sealed, with {@code references} held by the caller. */
    public void seal(int slot, int references) {
        long word = get(slot);
        if (state(word) != FILLING || !update(slot, word, word(word >>> GENERATION_SHIFT, SEALED, references))) {
            throw refused(slot, word, "filling");
        }
    }

    /** The write lock on a sealed block: sealed, without references and pins, to filling under the next generation; false when it is not. */
    public boolean reopen(int slot, long generation, long nowNanos) {
        if (isSoftPinned(slot, nowNanos) || !startEvictionOf(slot, generation)) {
            return false;
        }
        // By way of evicting, as the word alone does not tell of a soft pin that was set and whose lease ended since
        // the first look.
        if (isSoftPinned(slot, nowNanos)) {
            cancelEviction(slot);
            return false;
        }
        recycle(slot);
        return true;
    }

    /**
     * Filling, or evicting without references, to free under the next generation. Others may take it at once.
     *
     * @return the generation under which it is free
     */
    public long free(int slot) {
        long word = get(slot);
        boolean owned = state(word) == FILLING || state(word) == EVICTING;
        if (owned && (word & HOLDS) == 0) {
            // Before others can see it free: they take it by its word alone.
            clearSoftPin(slot);
        }
        long next = word((word >>> GENERATION_SHIFT) + 1, FREE, 0);
        if (!owned || (word & HOLDS) != 0 || !update(slot, word, next)) {
            throw refused(slot, word, "filling, or evicting without references");
        }
        return next >>> GENERATION_SHIFT;
    }

    /** {@link #free} if the slot is filling and of {@code generation}; false when not. With {@code vanish} it is absent, never free. */
    boolean freeFilling(int slot, long generation, boolean vanish) {
        if (softPins != null) {
            // One that was carried here. It is the caller's to clear only if the slot is.
            if (!isFilling(slot, generation)) {
                return false;
            }
            clearSoftPin(slot);
        }
        long word = word(generation & GENERATIONS, FILLING, 0);
        return update(slot, word, word(generation + 1, vanish ? ABSENT : FREE, 0));
    }

    /** Evicting without references, and the caller's own, to free or absent under the next generation. */
    void freeEvicting(int slot, boolean vanish) {
        long word = get(slot);
        long next = word((word >>> GENERATION_SHIFT) + 1, vanish ? ABSENT : FREE, 0);
        clearSoftPin(slot);
        if (state(word) != EVICTING || (word & HOLDS) != 0 || !update(slot, word, next)) {
            throw refused(slot, word, "evicting without references");
        }
    }

    /** Absent to filling. */
    void appearFilling(int slot) {
        changeState(slot, ABSENT, FILLING);
    }

    /** Evicting without references, and the caller's own, to filling under the next generation. */
    public void recycle(int slot) {
        long word = get(slot);
        if (state(word) != EVICTING
                || (word & HOLDS) != 0
                || !update(slot, word, word((word >>> GENERATION_SHIFT) + 1, FILLING, 0))) {
            throw refused(slot, word, "evicting without references");
        }
        clearSoftPin(slot);
    }

    // -------------------------------------------------------------------------------------------------------- read

    /** Adds a reference if the slot is sealed or moving. */
    public boolean lease(int slot) {
        while (true) {
            long word = get(slot);
            if ((word & LEASABLE) == 0 || (word & REFERENCES) == REFERENCES) {
                return false;
            }
            if (update(slot, word, word + 1)) {
                return true;
            }
        }
    }

    /** {@link #lease(int)} if the slot is of {@code generation} too. */
    public boolean lease(int slot, long generation) {
        // Most often nobody else holds it.
        long word = word(generation, SEALED, 0);
        while (true) {
            long seen = exchange(slot, word, word + 1);
            if (seen == word) {
                return true;
            }
            word = seen;
            if ((word & LEASABLE) == 0
                    || word >>> GENERATION_SHIFT != generation
                    || (word & REFERENCES) == REFERENCES) {
                return false;
            }
        }
    }

    /**
     * Drops a reference.
     *
     * @throws MooncakeException ILLEGAL_STATE when none is held
     */
    public Release release(int slot) {
        while (true) {
            long word = get(slot);
            if ((word & REFERENCES) == 0) {
                throw refused(slot, word, "a reference that is held");
            }
            if (update(slot, word, word - 1)) {
                return left(word - 1);
            }
        }
    }

    /**
     * {@link #release(int)} if the slot is of {@code generation}; null when it is of another.
     *
     * @throws MooncakeException ILLEGAL_STATE when no reference is held
     */
    @Nullable
    Release release(int slot, long generation) {
        // Most often it is the only one.
        long word = word(generation, SEALED, 1);
        while (true) {
            long seen = exchange(slot, word, word - 1);
            if (seen == word) {
                return left(word - 1);
            }
            word = seen;
            if (word >>> GENERATION_SHIFT != generation) {
                return null;
            }
            if ((word & REFERENCES) == 0) {
                throw refused(slot, word, "a reference that is held");
            }
        }
    }

    private static Release left(long word) {
        if ((word & REFERENCES) != 0) {
            return Release.HELD;
        }
        return state(word) == EVICTING ? Release.DRAINED : Release.IDLE;
    }

    // -------------------------------------------------------------------------------------------------------- pins

    /** Adds a hard pin if the slot is sealed; false when it is not, or has {@value #MAX_HARD_PINS} already. */
    public boolean pin(int slot, long generation) {
        while (true) {
            long word = get(slot);
            if (state(word) != SEALED || word >>> GENERATION_SHIFT != generation || (word & PINS) == PINS) {
                return false;
            }
            if (update(slot, word, word + ONE_PIN)) {
                return true;
            }
        }
    }

    /**
     * Takes a hard pin off.
     *
     * @throws MooncakeException ILLEGAL_STATE when there is none
     */
    public void unpin(int slot) {
        while (true) {
            long word = get(slot);
            if ((word & PINS) == 0) {
                throw refused(slot, word, "a hard pin");
            }
            if (update(slot, word, word - ONE_PIN)) {
                return;
            }
        }
    }

    /**
     * Keeps the block until {@code untilNanos} of the monotonic clock at least. The caller holds a reference.
     *
     * @return false when the block is moving or has moved, which carries the pins that were there before it: pin it in its new place
     */
    public boolean softPin(int slot, long untilNanos) {
        if (references(slot) == 0) {
            throw refused(slot, get(slot), "a reference that is held");
        }
        AtomicLongArray pins = madeSoftPins();
        long until = untilNanos | 1;
        long now = pins.get(slot);
        while ((now == 0 || until - now > 0) && !pins.compareAndSet(slot, now, until)) {
            now = pins.get(slot);
        }
        // Sealed still: so a move that starts now, and reads the pin after that, sees it.
        return state(get(slot)) == SEALED;
    }

    /** Gives a slot that the caller fills the soft pin of the slot that it moves from. */
    public void carrySoftPin(BlockStates from, int fromSlot, int slot) {
        AtomicLongArray pins = from.softPins;
        long until = pins == null ? 0 : pins.get(fromSlot);
        if (until != 0) {
            madeSoftPins().set(slot, until);
        }
    }

    /** Takes the soft pin off. For who keeps others from extending it meanwhile. */
    public void endSoftPin(int slot) {
        clearSoftPin(slot);
    }

    /** Whether a soft pin holds the block at {@code nowNanos}. */
    public boolean isSoftPinned(int slot, long nowNanos) {
        AtomicLongArray pins = softPins;
        long until = pins == null ? 0 : pins.get(slot);
        return until != 0 && until - nowNanos > 0;
    }

    private synchronized AtomicLongArray madeSoftPins() {
        AtomicLongArray pins = softPins;
        if (pins == null) {
            pins = new AtomicLongArray(words.length);
            softPins = pins;
        }
        return pins;
    }

    private void clearSoftPin(int slot) {
        AtomicLongArray pins = softPins;
        // Most have none, and looking is cheaper than writing.
        if (pins != null && pins.get(slot) != 0) {
            pins.set(slot, 0);
        }
    }

    // ------------------------------------------------------------------------------------------------ evict, move

    /** Sealed, without references and hard pins, to evicting, whatever its soft pin. */
    public boolean startEviction(int slot) {
        long word = get(slot);
        return state(word) == SEALED
                && (word & HOLDS) == 0
                && update(slot, word, word(word >>> GENERATION_SHIFT, EVICTING, 0));
    }

    /** Sealed, without references and pins at {@code nowNanos}, to evicting. */
    public boolean startEviction(int slot, long nowNanos) {
        if (isSoftPinned(slot, nowNanos) || !startEviction(slot)) {
            return false;
        }
        if (isSoftPinned(slot, nowNanos)) {
            // Extended since the first look.
            cancelEviction(slot);
            return false;
        }
        return true;
    }

    /** {@link #startEviction(int)} if the slot is of {@code generation} too. */
    boolean startEvictionOf(int slot, long generation) {
        return update(slot, word(generation & GENERATIONS, SEALED, 0), word(generation, EVICTING, 0));
    }

    /** Evicting to sealed: the block stays. Only for who started the eviction. */
    public void cancelEviction(int slot) {
        changeState(slot, EVICTING, SEALED);
    }

    /** Sealed, without hard pins, to moving; references stay. The caller is the mover. */
    public boolean startMove(int slot, long generation) {
        while (true) {
            long word = get(slot);
            if (state(word) != SEALED || word >>> GENERATION_SHIFT != generation || (word & PINS) != 0) {
                return false;
            }
            if (update(slot, word, word & ~STATE | MOVING << STATE_SHIFT)) {
                return true;
            }
        }
    }

    /** Moving to sealed: the move failed, the block stays here. For the mover. */
    public void cancelMove(int slot) {
        changeState(slot, MOVING, SEALED);
    }

    /**
     * Moving to evicting, once the block's new place is known to readers. For the mover.
     *
     * @return DRAINED when nobody holds the old place: the caller frees it; HELD when the last reader will be told so
     */
    public Release finishMove(int slot) {
        return left(changeState(slot, MOVING, EVICTING));
    }

    private long changeState(int slot, long from, long to) {
        while (true) {
            long word = get(slot);
            if (state(word) != from) {
                throw refused(slot, word, NAMES[(int) from]);
            }
            long next = word & ~STATE | to << STATE_SHIFT;
            if (update(slot, word, next)) {
                return next;
            }
        }
    }

    // -------------------------------------------------------------------------------------------------------- look

    /** Slots in all. */
    public int slots() {
        return words.length;
    }

    /** Whether the slot holds a sealed block that nobody holds or moves, soft pins aside. */
    boolean isIdle(int slot) {
        long word = get(slot);
        return state(word) == SEALED && (word & HOLDS) == 0;
    }

    /** Whether the block of {@code generation} is just leaving the slot, or looked at to that end. */
    boolean isEvicting(int slot, long generation) {
        long word = get(slot);
        return state(word) == EVICTING && word >>> GENERATION_SHIFT == generation;
    }

    /** Whether the slot holds a block that can be leased. */
    public boolean isReadable(int slot) {
        return (get(slot) & LEASABLE) != 0;
    }

    /** Whether the slot holds a block that can be leased, of {@code generation}. */
    public boolean isReadable(int slot, long generation) {
        long word = get(slot);
        return (word & LEASABLE) != 0 && word >>> GENERATION_SHIFT == generation;
    }

    /** The same, or of a block that has gone and whose readers of before hold it still. */
    public boolean isIntact(int slot, long generation) {
        long word = get(slot);
        boolean held = (word & LEASABLE) != 0 || state(word) == EVICTING && (word & REFERENCES) != 0;
        return held && word >>> GENERATION_SHIFT == generation;
    }

    /** Whether the slot is being filled under {@code generation}. */
    public boolean isFilling(int slot, long generation) {
        return get(slot) == word(generation & GENERATIONS, FILLING, 0);
    }

    /** References held on the slot now. */
    public int references(int slot) {
        return (int) (get(slot) & REFERENCES);
    }

    /** Hard pins of the slot now. */
    public int hardPins(int slot) {
        return (int) ((get(slot) & PINS) >>> PIN_SHIFT);
    }

    /** The slot's generation. */
    public long generation(int slot) {
        return get(slot) >>> GENERATION_SHIFT;
    }

    /** State, references and pins in words, for messages. */
    public String describe(int slot) {
        return describe(get(slot));
    }

    private static String describe(long word) {
        return NAMES[(int) state(word)] + ", " + (word & REFERENCES) + " references, " + ((word & PINS) >>> PIN_SHIFT)
                + " hard pins, generation " + (word >>> GENERATION_SHIFT);
    }

    private static MooncakeException refused(int slot, long word, String expected) {
        return new MooncakeException(
                Code.ILLEGAL_STATE, "slot " + slot + ": " + describe(word) + " (expected: " + expected + ")");
    }

    /** Generations wrap at 40 bits. */
    private static final long GENERATIONS = -1L >>> GENERATION_SHIFT;

    private static long state(long word) {
        return (word & STATE) >>> STATE_SHIFT;
    }

    private static long word(long generation, long state, long references) {
        return generation << GENERATION_SHIFT | state << STATE_SHIFT | references;
    }
}
