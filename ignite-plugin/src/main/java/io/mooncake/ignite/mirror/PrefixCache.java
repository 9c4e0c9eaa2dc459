// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
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
import org.apache.ignite.util.AttributeNodeFilter;
import org.jspecify.annotations.Nullable;

/**
 * The Ignite cache behind {@code MOONCAKE.PREFIXES}. Names and JDK types only, so that nodes without our classes can take part in its
 * topology and query it; its partitions lie on storing nodes alone, in a region of their own.
 *
 * <p>A key is {@code HOLDER:POOL:RUN}: the holder's node id, the pool, the first 128 bits of the run's first digest.
 */
final class PrefixCache {
    static final String CACHE = "mooncake.prefixes";
    static final String SCHEMA = "MOONCAKE";
    static final String TABLE = "PREFIXES";
    private static final String VALUE_TYPE = "MooncakePrefix";
    private static final int PARTITIONS = 64;
    private static final int BATCH = 512;
    private static final long TIMEOUT_MILLIS = 5_000;
    private static final int HOLDER_LENGTH = 36;

    private final Ignite ignite;
    private final UUID holder;
    private @Nullable IgniteCache<String, BinaryObject> cache;

    PrefixCache(Ignite ignite, UUID holder) {
        this.ignite = ignite;
        this.holder = holder;
    }

    static CacheConfiguration<String, BinaryObject> configuration() {
        LinkedHashMap<String, String> fields = new LinkedHashMap<>();
        fields.put("prefix", String.class.getName());
        fields.put("tokens", Integer.class.getName());
        fields.put("holders", Integer.class.getName());
        fields.put("hits", Long.class.getName());
        fields.put("pool", String.class.getName());
        fields.put("node", UUID.class.getName());
        fields.put("depth", Integer.class.getName());
        fields.put("blocks", Integer.class.getName());
        fields.put("bytes", Long.class.getName());
        QueryEntity table = new QueryEntity(String.class.getName(), VALUE_TYPE)
                .setTableName(TABLE)
                .setFields(fields);
        return new CacheConfiguration<String, BinaryObject>(CACHE)
                .setCacheMode(CacheMode.PARTITIONED)
                .setAtomicityMode(CacheAtomicityMode.ATOMIC)
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.PRIMARY_SYNC)
                .setBackups(0)
                .setPartitionLossPolicy(PartitionLossPolicy.IGNORE)
                .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS))
                .setDataRegionName(MirrorRegion.NAME)
                .setNodeFilter(new AttributeNodeFilter("mooncake.role", "STORE"))
                .setSqlSchema(SCHEMA)
                .setQueryEntities(List.of(table));
    }

    /** The key of this holder's row of {@code run} in {@code pool}. */
    String key(String pool, Run run) {
        return holder + ":" + pool + ":" + run.first().hex().substring(0, 32);
    }

    /** Opens the cache, making it when the cluster has none yet. */
    void open() {
        if (cache == null) {
            cache = ignite.getOrCreateCache(configuration()).withKeepBinary();
        }
    }

    /**
     * Takes lost partitions into use again, empty: the rows are written anew. In a cluster with persistence Ignite keeps them lost when a node of the baseline is gone, whatever the
     * policy says, and refuses every statement until somebody lets it.
     *
     * @return whether there were any
     */
    boolean findLost() {
        if (opened().lostPartitions().isEmpty()) {
            return false;
        }
        ignite.resetLostPartitions(Set.of(CACHE));
        return true;
    }

    /** Forgets the handle; the next {@link #open} asks the cluster again. */
    void reset() {
        cache = null;
    }

    /** Whether the cache has all {@code keys}. */
    boolean hasAll(Set<String> keys) {
        return keys.isEmpty() || opened().containsKeysAsync(keys).get(TIMEOUT_MILLIS);
    }

    /**
     * Writes {@code rows} in batches while there is {@code room}, keeping {@code diff} true to what the cache confirmed.
     *
     * @return rows written
     */
    int put(Map<String, PrefixRow> rows, MirrorDiff diff, BooleanSupplier room) {
        TreeMap<String, PrefixRow> left = new TreeMap<>(rows);
        while (!left.isEmpty() && room.getAsBoolean()) {
            Map<String, PrefixRow> batch = new LinkedHashMap<>();
            Map<String, BinaryObject> values = new TreeMap<>();
            while (batch.size() < BATCH && !left.isEmpty()) {
                Map.Entry<String, PrefixRow> entry = left.pollFirstEntry();
                batch.put(entry.getKey(), entry.getValue());
                values.put(entry.getKey(), binary(entry.getValue()));
            }
            diff.writing(batch.keySet());
            opened().putAllAsync(values).get(TIMEOUT_MILLIS);
            diff.wrote(batch);
        }
        return rows.size() - left.size();
    }

    /** Removes {@code keys} in batches. */
    void remove(Collection<String> keys, MirrorDiff diff) {
        removeAll(keys, diff);
    }

    /**
     * Removes the rows, in this node's partitions, of holders that {@code alive} denies.
     *
     * @return rows removed
     */
    int sweep(Predicate<UUID> alive) {
        TreeSet<String> orphans = new TreeSet<>();
        ScanQuery<String, BinaryObject> local = new ScanQuery<>();
        local.setLocal(true);
        try (QueryCursor<Cache.Entry<String, BinaryObject>> rows = opened().query(local)) {
            for (Cache.Entry<String, BinaryObject> row : rows) {
                String key = row.getKey();
                UUID of = holderOf(key);
                if (of == null || !alive.test(of)) {
                    orphans.add(key);
                }
            }
        }
        removeAll(orphans, null);
        return orphans.size();
    }

    /** Whose row it is; null for a row that no node wrote. */
    private static @Nullable UUID holderOf(String key) {
        try {
            return key.length() < HOLDER_LENGTH ? null : UUID.fromString(key.substring(0, HOLDER_LENGTH));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private void removeAll(Collection<String> keys, @Nullable MirrorDiff diff) {
        List<String> left = new ArrayList<>(new TreeSet<>(keys));
        for (int from = 0; from < left.size(); from += BATCH) {
            List<String> batch = left.subList(from, Math.min(left.size(), from + BATCH));
            opened().removeAllAsync(new TreeSet<>(batch)).get(TIMEOUT_MILLIS);
            if (diff != null) {
                diff.removed(batch);
            }
        }
    }

    private IgniteCache<String, BinaryObject> opened() {
        IgniteCache<String, BinaryObject> open = cache;
        if (open == null) {
            throw new IllegalStateException("mirror cache is not open");
        }
        return open;
    }

    private BinaryObject binary(PrefixRow row) {
        return ignite.binary()
                .builder(VALUE_TYPE)
                .setField("prefix", row.prefix().hex())
                .setField("tokens", row.tokens())
                .setField("holders", row.holders())
                .setField("hits", row.hits())
                .setField("pool", row.pool())
                .setField("node", holder)
                .setField("depth", row.depth())
                .setField("blocks", row.blocks())
                .setField("bytes", row.bytes())
                .build();
    }
}
