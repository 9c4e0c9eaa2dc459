// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.memory.block.BlockArena;
import java.util.concurrent.TimeUnit;
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
    /** Least pause after it was in vain: the search looks at every slot. It is as long as the search at least. */
    private static final long PAUSE_NANOS = 2_000_000;

    private final MemoryPool pool;
    private final TierSpace space;
    /** Held by the thread that evacuates. */
    final ReentrantLock lock = new ReentrantLock();
    // Guarded by lock.
    private long pauseUntilNanos;
    private boolean paused;

    Evacuation(MemoryPool pool, TierSpace space) {
        this.pool = pool;
        this.space = space;
    }

    /**
     * Allocates {@code size} bytes after all, or {@link BlockArena#NONE}.
     *
     * @param deadline when to give up waiting for another thread and to begin no other chunk
     */
    long allocate(long size, Deadline deadline) {
        if (size > space.arena.chunkBytes() / 2 || !lock(deadline)) {
            return BlockArena.NONE;
        }
        try {
            long token = space.arena.allocate(size);
            long begin = System.nanoTime();
            if (token != BlockArena.NONE || (paused && pauseUntilNanos - begin > 0)) {
                return token;
            }
            int[] chunks = space.arena.evacuationOrder(MAX_CHUNKS_TRIED);
            for (int i = 0; i < chunks.length && token == BlockArena.NONE && !deadline.expired(); i++) {
                evacuate(chunks[i]);
                token = space.arena.allocate(size);
            }
            long end = System.nanoTime();
            paused = token == BlockArena.NONE;
            pauseUntilNanos = end + Math.max(PAUSE_NANOS, end - begin);
            return token;
        } finally {
            lock.unlock();
        }
    }

    private boolean lock(Deadline deadline) {
        try {
            return lock.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void evacuate(int chunk) {
        if (space.arena.beginEvacuation(chunk)) {
            try {
                moveAll(space.arena.blocks(chunk));
            } finally {
                space.arena.endEvacuation(chunk);
            }
        }
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
