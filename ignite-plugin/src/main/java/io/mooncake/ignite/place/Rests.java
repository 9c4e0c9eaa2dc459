// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.memory.BlockKey;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Blocks that were copied a while ago: where a copy of one is gone again and nobody has room, it went for something better, and another would only go the same way. The
 * latest {@value #MAX} of them, by a hash of their keys: one taken for another rests without need.
 *
 * <p>Threading: safe for all threads.
 */
final class Rests {
    static final int MAX = 65_536;

    private final long restNanos;
    private final Map<Long, Long> copied = new LinkedHashMap<>();

    /** @param restNanos how long a block rests after it was copied */
    Rests(long restNanos) {
        this.restNanos = restNanos;
    }

    /** {@code key} was copied at {@code now}. */
    synchronized void copied(BlockKey key, long now) {
        copied.remove(key.word1());
        copied.put(key.word1(), now);
        if (copied.size() > MAX) {
            copied.remove(copied.keySet().iterator().next());
        }
    }

    /** Whether {@code key} was copied so lately that it rests. */
    synchronized boolean rests(BlockKey key, long now) {
        Long then = copied.get(key.word1());
        return then != null && now - then < restNanos;
    }

    /** Copies may have gone with a node: nothing rests. */
    synchronized void clear() {
        copied.clear();
    }
}
