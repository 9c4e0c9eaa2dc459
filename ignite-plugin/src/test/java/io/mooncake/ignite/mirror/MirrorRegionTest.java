// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.Test;

class MirrorRegionTest {
    @Test
    void install_persistentDefault_keepsUsersRegionsAndStaysInMemory() {
        DataRegionConfiguration users = new DataRegionConfiguration().setName("users");
        DataStorageConfiguration storage = new DataStorageConfiguration().setDataRegionConfigurations(users);
        storage.getDefaultDataRegionConfiguration().setPersistenceEnabled(true);
        IgniteConfiguration config = new IgniteConfiguration().setDataStorageConfiguration(storage);

        MirrorRegion.install(config, 10_000);
        MirrorRegion.install(config, 10_000);

        DataRegionConfiguration[] regions = config.getDataStorageConfiguration().getDataRegionConfigurations();
        assertThat(regions).hasSize(2).contains(users);
        assertThat(regions[1].getName()).isEqualTo("mooncake");
        assertThat(regions[1].isPersistenceEnabled()).isFalse();
        assertThat(regions[1].getMaxSize()).isEqualTo(32L << 20);
        assertThat(storage.getDefaultDataRegionConfiguration().isPersistenceEnabled())
                .isTrue();
    }

    @Test
    void install_noStorageConfigured_addsOne() {
        IgniteConfiguration config = new IgniteConfiguration();

        MirrorRegion.install(config, 100_000);

        assertThat(config.getDataStorageConfiguration()
                        .getDataRegionConfigurations()[0]
                        .getMaxSize())
                .isEqualTo(204_800_000);
    }
}
