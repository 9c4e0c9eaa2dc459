// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockArena;
import java.util.BitSet;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Makes room in the DRAM tier where there is enough of it, but in pieces that belong to other size classes: moves the buffers of a chunk that
 * is little used into the gaps of its class, so that the chunk is empty. Only sealed buffers that nobody holds are moved; readers may come
 * meanwhile, as with every move.
 *
 * <p>Threading: one thread at a time evacuates; others that find no room wait for it, and then look first whether there is some now.
 */
final class Evacuation {
    private static final int MAX_CHUNKS_TRIED = 16;
    /** After it was in vain: the search looks at every slot. */
    private static final long PAUSE_NANOS = 2_000_000;

    private final MemoryPool pool;
    private final TierSpace space;
    private final ReentrantLock lock = new ReentrantLock();
    // Guarded by lock.
    private long pauseUntilNanos;
    private boolean paused;

    Evacuation(MemoryPool pool, TierSpace space) {
        this.pool = pool;
        this.space = space;
    }

    /** Allocates {@code size} bytes after all, or {@link BlockArena#NONE}. */
    long allocate(long size) {
        if (size > space.arena.chunkBytes() / 2) {
            return BlockArena.NONE;
        }
        lock.lock();
        try {
            long token = space.arena.allocate(size);
            long now = System.nanoTime();
            if (token != BlockArena.NONE || (paused && pauseUntilNanos - now > 0)) {
                return token;
            }
            while (token == BlockArena.NONE && evacuateOne()) {
                token = space.arena.allocate(size);
            }
            paused = token == BlockArena.NONE;
            pauseUntilNanos = now + PAUSE_NANOS;
            return token;
        } finally {
            lock.unlock();
        }
    }

    private boolean evacuateOne() {
        BitSet tried = new BitSet();
        for (int i = 0; i < MAX_CHUNKS_TRIED; i++) {
            int chunk = space.arena.beginEvacuation(tried);
            if (chunk < 0) {
                return false;
            }
            tried.set(chunk);
            boolean empty;
            try {
                moveAll(space.arena.blocks(chunk));
            } finally {
                empty = space.arena.endEvacuation(chunk);
            }
            if (empty) {
                return true;
            }
        }
        return false;
    }

    private void moveAll(long[] tokens) {
        for (long token : tokens) {
            if (space.arena.references(token) > 0) {
                return; // its place would not be free
            }
        }
        for (long token : tokens) {
            PoolBuffer buffer = space.owners.get(space.arena.slotOf(token));
            PoolBuffer.@Nullable Place at = buffer == null ? null : buffer.place();
            if (buffer != null && at != null && at.space() == space && at.token() == token) {
                if (!pool.moveWithin(buffer, at)) {
                    return;
                }
            } else if (space.arena.isFilling(token) || space.arena.isReadable(token)) {
                return; // of a data plane: it has the address
            }
        }
    }
}
