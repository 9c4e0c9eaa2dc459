// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import java.util.Arrays;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;

/**
 * The mirror's own data region: never persistent whatever the user's default is, several times larger than the row budget can fill,
 * because a full region halts the JVM under Ignite's default failure handler.
 */
public final class MirrorRegion {
    /** Name of the region. */
    public static final String NAME = "mooncake";

    // A row with its key and its place in the primary key takes 500 bytes at most; four times that is the margin.
    private static final long BYTES_PER_ROW = 2_048;
    private static final long MIN_BYTES = 32L << 20;
    private static final long INITIAL_BYTES = 16L << 20;

    private MirrorRegion() {}

    /** Largest size of the region for {@code rowBudget} rows a node, in bytes. */
    public static long maxBytes(int rowBudget) {
        return Math.max(MIN_BYTES, rowBudget * BYTES_PER_ROW);
    }

    /** Adds the region to {@code config}; what the user configured stays, a region of this name too. */
    static void install(IgniteConfiguration config, int rowBudget) {
        DataStorageConfiguration storage = config.getDataStorageConfiguration();
        if (storage == null) {
            storage = new DataStorageConfiguration();
            config.setDataStorageConfiguration(storage);
        }
        DataRegionConfiguration[] regions = storage.getDataRegionConfigurations();
        DataRegionConfiguration[] known = regions == null ? new DataRegionConfiguration[0] : regions;
        if (Arrays.stream(known).anyMatch(region -> NAME.equals(region.getName()))
                || NAME.equals(storage.getDefaultDataRegionConfiguration().getName())) {
            return;
        }
        DataRegionConfiguration[] all = Arrays.copyOf(known, known.length + 1);
        all[known.length] = new DataRegionConfiguration()
                .setName(NAME)
                .setPersistenceEnabled(false)
                .setInitialSize(INITIAL_BYTES)
                .setMaxSize(maxBytes(rowBudget));
        storage.setDataRegionConfigurations(all);
    }
}
