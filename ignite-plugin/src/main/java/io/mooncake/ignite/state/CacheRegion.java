// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.base.MooncakeException;
import java.util.Arrays;
import org.apache.ignite.DataRegionMetrics;
import org.apache.ignite.Ignite;
import org.apache.ignite.configuration.DataPageEvictionMode;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;

/**
 * A data region for one cache of ours. A region in memory that fills up halts the JVM under Ignite's default failure handler, therefore it
 * is larger than its cache's budget can fill, the cache's writers stop at {@value #STOP_PERCENT} % of it, and where its rows can be had
 * again, Ignite evicts pages beyond {@value #EVICT_PERCENT} %, whoever filled it.
 *
 * @param name of the region
 * @param leastBytes what the cache's budget may take; a user's own region of that name must have it
 * @param maxBytes size of the region when it is made here
 * @param persistent whether it outlives the nodes
 * @param evicts whether Ignite may drop rows to make room
 */
public record CacheRegion(String name, long leastBytes, long maxBytes, boolean persistent, boolean evicts) {
    /** Writers stop when so much of the region is used, in percent. */
    public static final int STOP_PERCENT = 90;

    private static final int EVICT_PERCENT = 95;
    private static final long INITIAL_BYTES = 10L << 20;
    // Ignite 2.17 refuses rows, and halts, when fewer than 256 pages would be left, one for each list of free space.
    private static final int RESERVED_PAGES = 256;

    /**
     * Adds the region to {@code config}, or checks the user's own of that name.
     *
     * @throws MooncakeException CONFIGURATION when the user's own region can't do what this one must
     */
    public void install(IgniteConfiguration config) {
        DataStorageConfiguration storage = config.getDataStorageConfiguration();
        if (storage == null) {
            storage = new DataStorageConfiguration();
            config.setDataStorageConfiguration(storage);
        }
        if (name.equals(storage.getDefaultDataRegionConfiguration().getName())) {
            throw refused("name", "that of the default region", "a name that is not ours");
        }
        DataRegionConfiguration[] regions = storage.getDataRegionConfigurations();
        DataRegionConfiguration[] known = regions == null ? new DataRegionConfiguration[0] : regions;
        for (DataRegionConfiguration region : known) {
            if (name.equals(region.getName())) {
                check(region);
                return;
            }
        }
        DataRegionConfiguration[] all = Arrays.copyOf(known, known.length + 1);
        all[known.length] = new DataRegionConfiguration()
                .setName(name)
                .setPersistenceEnabled(persistent)
                .setInitialSize(INITIAL_BYTES)
                .setMaxSize(maxBytes);
        if (evicts) {
            all[known.length]
                    .setPageEvictionMode(DataPageEvictionMode.RANDOM_2_LRU)
                    .setEvictionThreshold(EVICT_PERCENT / 100.0);
        }
        storage.setDataRegionConfigurations(all);
    }

    private void check(DataRegionConfiguration users) {
        if (users.isPersistenceEnabled() != persistent) {
            throw refused("persistenceEnabled", users.isPersistenceEnabled(), persistent);
        }
        if (users.getMaxSize() < leastBytes) {
            throw refused("maxSize", users.getMaxSize(), "at least " + leastBytes + " for the row budget");
        }
        boolean drops = users.getPageEvictionMode() != DataPageEvictionMode.DISABLED;
        if (drops != evicts) {
            throw refused(
                    "pageEvictionMode",
                    users.getPageEvictionMode(),
                    evicts ? "RANDOM_2_LRU or RANDOM_LRU" : "DISABLED");
        }
    }

    private MooncakeException refused(String option, Object value, Object expected) {
        return new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "data region '" + name + "', " + option + ": " + value + " (expected: " + expected
                        + "; without a region of this name one is made)");
    }

    /** How much is used on this node of what Ignite lets be used of the region, in percent; 0 while it does not run. */
    public int usedPercent(Ignite ignite) {
        DataRegionMetrics metrics = persistent ? null : ignite.dataRegionMetrics(name);
        if (metrics == null || metrics.getTotalAllocatedPages() == 0) {
            return 0;
        }
        long pageBytes = metrics.getTotalAllocatedSize() / metrics.getTotalAllocatedPages();
        long usable = size(ignite) - RESERVED_PAGES * pageBytes;
        return (int) (metrics.getTotalUsedPages() * pageBytes * 100 / Math.max(1, usable));
    }

    /** Whether writers must stop: on this node the region is used to {@value #STOP_PERCENT} %. What persists moves to disk instead. */
    public boolean full(Ignite ignite) {
        return usedPercent(ignite) >= STOP_PERCENT;
    }

    private long size(Ignite ignite) {
        DataStorageConfiguration storage = ignite.configuration().getDataStorageConfiguration();
        DataRegionConfiguration[] regions = storage == null ? null : storage.getDataRegionConfigurations();
        if (regions != null) {
            for (DataRegionConfiguration region : regions) {
                if (name.equals(region.getName())) {
                    return region.getMaxSize();
                }
            }
        }
        return maxBytes;
    }
}
