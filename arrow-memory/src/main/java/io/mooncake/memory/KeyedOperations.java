// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.block.BlockStates;
import io.mooncake.memory.index.ChainIndex;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What is asked for a block by its key: pins and removal. All of it under the pool's change lock, under which blocks come and go, so a block that
 * was found stays what it is until the lock is left; its pins change there alone. Leases go on meanwhile.
 */
final class KeyedOperations {
    /** Longest soft pin: far from where differences of the clock's times wrap. */
    static final Duration LONGEST_SOFT_PIN = Duration.ofDays(365);

    private final BlockStore store;
    private final BlockStates states;

    KeyedOperations(BlockStore store) {
        this.store = store;
        states = store.slab.states();
    }

    BlockOutcome pinHard(BlockKey key) {
        store.change.lock();
        try {
            int slot = find(key);
            if (slot == BlockSlab.NONE) {
                return BlockOutcome.ABSENT;
            }
            if (states.hardPins(slot) > 0) {
                return BlockOutcome.UNCHANGED;
            }
            return states.pin(slot, states.generation(slot)) ? BlockOutcome.DONE : BlockOutcome.ABSENT;
        } finally {
            store.change.unlock();
        }
    }

    BlockOutcome pinSoft(BlockKey key, @Nullable Duration time) {
        BlockOutcome outcome = setSoftPin(key, time);
        store.events.drain(); // a release may take what a tenant has too much of
        return outcome;
    }

    private BlockOutcome setSoftPin(BlockKey key, @Nullable Duration time) {
        if (time == null || time.isNegative() || time.isZero() || time.compareTo(LONGEST_SOFT_PIN) > 0) {
            throw MooncakeException.invalid("pin time", time, "above 0, at most " + LONGEST_SOFT_PIN);
        }
        store.change.lock();
        try {
            int slot = find(key);
            if (slot == BlockSlab.NONE || !store.slab.lease(slot)) {
                return BlockOutcome.ABSENT;
            }
            states.softPin(slot, store.nanoClock.getAsLong() + time.toNanos());
            store.release(slot);
            return BlockOutcome.DONE;
        } finally {
            store.change.unlock();
        }
    }

    BlockOutcome unpin(BlockKey key) {
        BlockOutcome outcome = takePinsOff(key);
        if (outcome == BlockOutcome.DONE) {
            store.trimIfDue();
            store.room.wake();
        }
        return outcome;
    }

    private BlockOutcome takePinsOff(BlockKey key) {
        store.change.lock();
        try {
            int slot = find(key);
            if (slot == BlockSlab.NONE) {
                return BlockOutcome.ABSENT;
            }
            boolean soft = states.isSoftPinned(slot, store.nanoClock.getAsLong());
            states.endSoftPin(slot);
            boolean hard = states.hardPins(slot) > 0;
            if (hard) {
                states.unpin(slot);
            }
            return soft || hard ? BlockOutcome.DONE : BlockOutcome.UNCHANGED;
        } finally {
            store.change.unlock();
        }
    }

    /** The block and what follows it, from the end: so no moment shows a hole. */
    BlockOutcome remove(BlockKey key, RemovalCause cause) {
        store.change.lock();
        try {
            int first = find(key);
            if (first == BlockSlab.NONE) {
                return BlockOutcome.ABSENT;
            }
            int[] chain = store.index.chainFrom(first);
            for (int slot : chain) {
                if (states.hardPins(slot) > 0) {
                    return BlockOutcome.PINNED;
                }
            }
            for (int i = chain.length - 1; i >= 0; i--) {
                store.remove(chain[i], cause);
            }
        } finally {
            store.change.unlock();
        }
        store.events.drain();
        return BlockOutcome.DONE;
    }

    /** Whether a hard pin holds the block now. */
    boolean isPinnedHard(BlockKey key) {
        long id = store.index.find(key);
        return id != ChainIndex.ABSENT && states.hardPins(ChainIndex.slot(id)) > 0;
    }

    /** Under the change lock. */
    private int find(BlockKey key) {
        long id = store.index.find(key);
        return id == ChainIndex.ABSENT ? BlockSlab.NONE : ChainIndex.slot(id);
    }
}
