// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import javax.cache.Cache;
import javax.cache.CacheException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.PartitionLossPolicy;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.lang.IgniteFuture;
import org.apache.ignite.lang.IgniteFutureTimeoutException;
import org.apache.ignite.util.AttributeNodeFilter;

/**
 * The Ignite cache behind the state, as {@code MOONCAKE.STATE} in SQL. Names and JDK types only; on storing nodes alone; two copies. A row
 * is written by compare-and-replace of its bytes, so that of two writers who read the same version one is refused.
 */
final class StateCache {
    static final String CACHE = "mooncake.state";
    private static final int PARTITIONS = 32;

    private final Ignite ignite;
    private final IgniteCache<String, BinaryObject> cache;

    private StateCache(Ignite ignite, IgniteCache<String, BinaryObject> cache) {
        this.ignite = ignite;
        this.cache = cache;
    }

    /** The cluster's cache, made when there is none and {@code make} says so; empty where there is none. */
    static Optional<StateCache> open(Ignite ignite, boolean make) {
        IgniteCache<String, BinaryObject> there = make ? ignite.getOrCreateCache(configuration()) : ignite.cache(CACHE);
        return Optional.ofNullable(there).map(cache -> new StateCache(ignite, cache.withKeepBinary()));
    }

    static CacheConfiguration<String, BinaryObject> configuration() {
        QueryEntity table = new QueryEntity(String.class.getName(), StateCodec.TYPE)
                .setTableName("STATE")
                .setFields(StateCodec.fields());
        return new CacheConfiguration<String, BinaryObject>(CACHE)
                .setCacheMode(CacheMode.PARTITIONED)
                .setAtomicityMode(CacheAtomicityMode.ATOMIC)
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC)
                .setBackups(1)
                // Where rows persist, Ignite waits for the nodes that have a lost partition, whatever stands here.
                .setPartitionLossPolicy(PartitionLossPolicy.IGNORE)
                .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS))
                .setDataRegionName(StateStore.REGION)
                .setNodeFilter(new AttributeNodeFilter("mooncake.role", "STORE"))
                .setSqlSchema("MOONCAKE")
                .setQueryEntities(List.of(table));
    }

    /** What the cluster has under {@code key}. */
    Optional<Versioned<?>> read(String key, Deadline deadline) {
        return Optional.ofNullable(call(() -> cache.getAsync(key), deadline)).flatMap(StateCodec::decode);
    }

    /**
     * Puts {@code next} where {@code known} is, or where nothing is.
     *
     * @return whether it is there now
     */
    boolean write(Optional<? extends Versioned<?>> known, Versioned<?> next, Deadline deadline) {
        String key = next.row().key();
        BinaryObject value = StateCodec.encode(ignite.binary(), next);
        boolean done = known.isEmpty()
                ? call(() -> cache.putIfAbsentAsync(key, value), deadline)
                : call(() -> cache.replaceAsync(key, StateCodec.encode(ignite.binary(), known.get()), value), deadline);
        // Ignite tries again by itself when a primary is lost, and then meets what it wrote.
        return done || read(key, deadline).map(next::equals).orElse(false);
    }

    /** Removes {@code known}. @return whether it was there */
    boolean remove(Versioned<?> known, Deadline deadline) {
        BinaryObject value = StateCodec.encode(ignite.binary(), known);
        return call(() -> cache.removeAsync(known.row().key(), value), deadline);
    }

    /**
     * Fills {@code copy} with what the cache has.
     *
     * <p>No continuous query: Ignite 2.17 holds the cache's gate while one begins and waits for the topology, and a cluster that is being switched off waits for
     * that gate. Both then wait for ever.
     */
    void scan(StateView.Copy copy) {
        try (QueryCursor<Cache.Entry<String, BinaryObject>> cursor = cache.query(new ScanQuery<>())) {
            for (Cache.Entry<String, BinaryObject> entry : cursor) {
                StateCodec.decode(entry.getValue()).ifPresent(copy::scanned);
            }
        }
        copy.whole();
    }

    private static <R> R call(Supplier<IgniteFuture<R>> operation, Deadline deadline) {
        if (deadline.expired()) {
            throw new MooncakeException(
                    MooncakeException.Code.DEADLINE_EXCEEDED,
                    "state: the deadline passed before the cluster was asked");
        }
        try {
            return operation.get().get(deadline.remainingMillis());
        } catch (IgniteFutureTimeoutException e) {
            throw new MooncakeException(
                    MooncakeException.Code.DEADLINE_EXCEEDED, "state: the cluster did not answer in time", e);
        } catch (IgniteException | CacheException | IllegalStateException e) {
            throw new MooncakeException(
                    MooncakeException.Code.PEER_UNREACHABLE, "state: the cluster failed to answer: " + e, e);
        }
    }
}
