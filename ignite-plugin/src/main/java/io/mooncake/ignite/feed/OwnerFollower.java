// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Follows all pools of one life of one owner.
 *
 * <p>Threading: safe for all threads.
 */
public final class OwnerFollower implements AutoCloseable {
    private final UUID incarnation;
    private final FeedChecks checks;
    private final Map<String, PoolFollower> pools = new TreeMap<>();
    private final AtomicLong badFrames = new AtomicLong();

    /**
     * @param incarnation the life that is followed; frames of others are counted and dropped
     * @param version of the feed that the owner is asked in
     * @param sinks where to write, by pool
     * @param requests asks the owner
     * @param nanoClock monotonic time
     * @param pollNanos silence after which the owner is asked
     */
    public OwnerFollower(
            UUID incarnation,
            int version,
            Map<String, HolderSink> sinks,
            FeedRequests requests,
            LongSupplier nanoClock,
            long pollNanos) {
        this(incarnation, version, sinks, requests, nanoClock, pollNanos, FeedChecks.ALL);
    }

    OwnerFollower(
            UUID incarnation,
            int version,
            Map<String, HolderSink> sinks,
            FeedRequests requests,
            LongSupplier nanoClock,
            long pollNanos,
            FeedChecks checks) {
        this.checks = checks;
        this.incarnation = incarnation;
        sinks.forEach((pool, sink) -> pools.put(
                pool, new PoolFollower(incarnation, pool, version, sink, requests, nanoClock, pollNanos, checks)));
    }

    /** Asks for the first snapshots. The subscription should be there before. */
    public void start() {
        pools.values().forEach(PoolFollower::start);
    }

    /** Takes a published frame, however mangled. */
    public void onFrame(byte[] bytes) {
        try {
            FeedFrame frame = FeedFrame.decode(bytes);
            PoolFollower pool = pools.get(frame.pool());
            if (pool != null && (frame.incarnation().equals(incarnation) || !checks.checksIncarnation())) {
                pool.onFrame(frame);
                return;
            }
        } catch (MooncakeException e) {
            // Counted with the frames of others; what it carried is repaired like a loss.
        }
        badFrames.incrementAndGet();
    }

    /** Sends again what got no answer. Call it about once a heartbeat. */
    public void tick() {
        pools.values().forEach(PoolFollower::tick);
    }

    /** The shortest time since something came from the owner, over its pools. */
    public long silentNanos() {
        return pools.values().stream()
                .mapToLong(PoolFollower::silentNanos)
                .min()
                .orElse(0);
    }

    /** Whether everything the owner is known to have said is applied. */
    public boolean current() {
        return pools.values().stream().allMatch(PoolFollower::current);
    }

    /** Gaps asked for so far. */
    public long repairs() {
        return pools.values().stream().mapToLong(PoolFollower::repairs).sum();
    }

    /** Snapshots begun so far. */
    public long snapshots() {
        return pools.values().stream().mapToLong(PoolFollower::snapshots).sum();
    }

    /** Frames that were dropped as malformed or of others. */
    public long badFrames() {
        return badFrames.get()
                + pools.values().stream().mapToLong(PoolFollower::badFrames).sum();
    }

    /** Voids everything it wrote at once. Idempotent. */
    @Override
    public void close() {
        pools.values().forEach(PoolFollower::close);
    }
}
