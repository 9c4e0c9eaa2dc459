// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockListener;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.RemovalCause;
import io.mooncake.memory.StoredBlock;
import java.util.Optional;

/**
 * Why blocks that a pool of this node had are gone, of the last ones that went; 512 KiB off the heap from the first one on. Threading: safe for all
 * threads.
 */
public final class OwnGraves implements BlockListener {
    /** Of the number of blocks it remembers at most. */
    private static final int BITS = 16;

    private final Graves graves = new Graves(BITS);

    @Override
    public void onStored(StoredBlock block) {
        // Who is there is not asked for here.
    }

    @Override
    public synchronized void onRemoved(BlockKey key, long generation, RemovalCause cause) {
        boolean taken = cause == RemovalCause.REMOVED || cause == RemovalCause.LOST;
        graves.add(key.word0(), key.word1(), taken ? Graves.REMOVED : Graves.EVICTED);
    }

    /** Why {@code key} went: EVICTED or REMOVED; empty when that is not known. Whether it is there again is the caller's to know. */
    public Optional<MissReason> whyGone(BlockKey key) {
        return switch (graves.find(key.word0(), key.word1())) {
            case Graves.EVICTED -> Optional.of(MissReason.EVICTED);
            case Graves.REMOVED -> Optional.of(MissReason.REMOVED);
            default -> Optional.empty();
        };
    }
}
