// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Keeps two callers from fetching the same blocks at once: whoever comes second waits for the first and looks again.
 *
 * <p>A flight is named by the first block it fetches. Threading: safe for all threads.
 */
public final class SingleFlight {
    private final ConcurrentHashMap<BlockKey, CountDownLatch> flights = new ConcurrentHashMap<>();

    /**
     * Begins the flight of {@code key}, or waits for the one in the air.
     *
     * @return true: the caller flies and owes a {@link #end}; false: another flight ended or the deadline passed, look again
     */
    public boolean beginOrAwait(BlockKey key, Deadline deadline) {
        CountDownLatch other = flights.putIfAbsent(key, new CountDownLatch(1));
        if (other == null) {
            return true;
        }
        try {
            boolean ended = other.await(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
            assert ended || deadline.expired();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return false;
    }

    /** Ends the caller's flight. */
    public void end(BlockKey key) {
        CountDownLatch flight = flights.remove(key);
        if (flight != null) {
            flight.countDown();
        }
    }
}
