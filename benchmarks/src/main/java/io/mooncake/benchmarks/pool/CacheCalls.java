// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

import io.mooncake.examples.cli.Refusal;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.util.AttributeNodeFilter;

/** A plain Ignite cache of byte arrays on this node or the other. */
final class CacheCalls implements Calls {
    private final IgniteCache<Long, byte[]> cache;
    private final byte[] value;
    private long next;
    private long from;
    private int count;

    CacheCalls(Ignite ignite, int size, boolean remote) {
        String role = remote ? "owner" : "client";
        CacheConfiguration<Long, byte[]> config = new CacheConfiguration<>("bench-" + role);
        config.setCacheMode(CacheMode.PARTITIONED)
                .setBackups(0)
                .setNodeFilter(new AttributeNodeFilter(PoolNodeMain.ROLE, role));
        this.cache = ignite.getOrCreateCache(config);
        this.value = new byte[size];
    }

    @Override
    public void begin(int values) {
        from = next;
        next += values;
        count = values;
    }

    @Override
    public void put(int first, int batch) {
        if (batch == 1) {
            cache.put(from + first, value);
            return;
        }
        Map<Long, byte[]> all = new TreeMap<>();
        for (int i = 0; i < batch; i++) {
            all.put(from + first + i, value);
        }
        cache.putAll(all);
    }

    @Override
    public void fill() {
        for (int i = 0; i < count; i++) {
            put(i, 1);
        }
    }

    @Override
    public void get(int first, int batch) {
        int found = batch == 1
                ? cache.get(from + first) == null ? 0 : 1
                : cache.getAll(keys(first, batch)).size();
        require(found == batch);
    }

    @Override
    public void exists(int first, int batch) {
        require(batch == 1 ? cache.containsKey(from + first) : cache.containsKeys(keys(first, batch)));
    }

    private Set<Long> keys(int first, int batch) {
        Set<Long> keys = new TreeSet<>();
        for (int i = 0; i < batch; i++) {
            keys.add(from + first + i);
        }
        return keys;
    }

    private static void require(boolean there) {
        if (!there) {
            throw new Refusal("Ignite's cache does not have what was put (expected: all of it)");
        }
    }

    @Override
    public void clear() {
        cache.clear();
    }
}
