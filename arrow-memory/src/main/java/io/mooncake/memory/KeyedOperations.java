// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.block.BlockStates;
import io.mooncake.memory.index.ChainIndex;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
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
            store.events.drain(); // what its tenant had too much of
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
            if (soft || hard) {
                TenantAccount owner = store.accounts.owner(slot);
                store.trimIfDue(slot, owner);
                store.room.wake(owner);
            }
            return soft || hard ? BlockOutcome.DONE : BlockOutcome.UNCHANGED;
        } finally {
            store.change.unlock();
        }
    }

    /** Another tier's part in a removal, under the pool's change lock. */
    interface Below {
        /** Without one. */
        Below NOTHING = new Below() {
            @Override
            public List<BlockKey> behind(BlockKey key) {
                return List.of();
            }

            @Override
            public boolean remove(List<BlockKey> chain) {
                return false;
            }
        };

        /** Keys of what it has right behind {@code key}. */
        List<BlockKey> behind(BlockKey key);

        /** Removes what it has of {@code chain}, from the end; whether it had any of it. */
        boolean remove(List<BlockKey> chain);
    }

    /**
     * The block and what follows it, from the end: so no moment shows a hole. A chain may go on in the other tier and come back; what is behind a block is
     * removed even where neither has the block itself. The caller owes listeners a {@code drain}.
     */
    BlockOutcome remove(BlockKey key, RemovalCause cause, Below below) {
        store.change.lock();
        try {
            List<BlockKey> chain = chain(key, below);
            for (BlockKey one : chain) {
                int slot = find(one);
                if (slot != BlockSlab.NONE && states.hardPins(slot) > 0) {
                    return BlockOutcome.PINNED;
                }
            }
            boolean any = false;
            for (int i = chain.size() - 1; i >= 0; i--) {
                int slot = find(chain.get(i));
                if (slot != BlockSlab.NONE) {
                    store.remove(slot, cause);
                    any = true;
                }
            }
            any |= below.remove(chain);
            return any ? BlockOutcome.DONE : BlockOutcome.ABSENT;
        } finally {
            store.change.unlock();
        }
    }

    /** {@code key} and the keys of all that follow it in either tier, each behind its parent. */
    private List<BlockKey> chain(BlockKey key, Below below) {
        Set<BlockKey> seen = new HashSet<>(Set.of(key));
        Set<BlockKey> walked = new HashSet<>();
        List<BlockKey> chain = new ArrayList<>(seen);
        for (int i = 0; i < chain.size(); i++) {
            BlockKey at = chain.get(i);
            if (walked.add(at)) {
                for (int slot : store.index.chainFrom(at)) {
                    BlockKey next = store.index.key(slot);
                    walked.add(next);
                    if (seen.add(next)) {
                        chain.add(next);
                    }
                }
            }
            for (BlockKey next : below.behind(at)) {
                if (seen.add(next)) {
                    chain.add(next);
                }
            }
        }
        return chain;
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
