// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import org.apache.ignite.configuration.DataPageEvictionMode;
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

        MirrorRegion.of(10_000).install(config);
        MirrorRegion.of(10_000).install(config);

        DataRegionConfiguration[] regions = config.getDataStorageConfiguration().getDataRegionConfigurations();
        assertThat(regions).hasSize(2).contains(users);
        assertThat(regions[1].getName()).isEqualTo("mooncake");
        assertThat(regions[1].isPersistenceEnabled()).isFalse();
        assertThat(regions[1].getMaxSize()).isEqualTo(32L << 20);
        assertThat(regions[1].getPageEvictionMode()).isEqualTo(DataPageEvictionMode.RANDOM_2_LRU);
        assertThat(regions[1].getEvictionThreshold()).isGreaterThan(0.9);
        assertThat(storage.getDefaultDataRegionConfiguration().isPersistenceEnabled())
                .isTrue();
    }

    @Test
    void install_noStorageConfigured_addsOne() {
        IgniteConfiguration config = new IgniteConfiguration();

        MirrorRegion.of(100_000).install(config);

        assertThat(config.getDataStorageConfiguration()
                        .getDataRegionConfigurations()[0]
                        .getMaxSize())
                .isEqualTo(204_800_000);
    }

    @Test
    void install_usersRegionThatDoes_isKept() {
        DataRegionConfiguration users = users();
        IgniteConfiguration config = with(users);

        MirrorRegion.of(10_000).install(config);

        assertThat(config.getDataStorageConfiguration().getDataRegionConfigurations())
                .containsExactly(users);
    }

    @Test
    void install_usersRegionTooSmall_isRefusedWithBothSizes() {
        assertRefused(with(users().setMaxSize(20_479_999)), "maxSize: 20479999 (expected: at least 20480000");
    }

    @Test
    void install_usersRegionThatCanOnlyFillUp_isRefused() {
        assertRefused(
                with(users().setPageEvictionMode(DataPageEvictionMode.DISABLED)),
                "pageEvictionMode: DISABLED (expected: RANDOM_2_LRU or RANDOM_LRU");
    }

    @Test
    void install_usersRegionPersistent_isRefused() {
        assertRefused(with(users().setPersistenceEnabled(true)), "persistenceEnabled: true (expected: false");
    }

    @Test
    void install_defaultRegionOfOurName_isRefused() {
        IgniteConfiguration config = new IgniteConfiguration()
                .setDataStorageConfiguration(new DataStorageConfiguration().setDefaultDataRegionConfiguration(users()));

        assertRefused(config, "name: that of the default region");
    }

    private static void assertRefused(IgniteConfiguration config, String message) {
        assertThatThrownBy(() -> MirrorRegion.of(10_000).install(config))
                .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                        .isEqualTo(MooncakeException.Code.CONFIGURATION))
                .hasMessageContaining("data region 'mooncake', " + message);
    }

    private static DataRegionConfiguration users() {
        return new DataRegionConfiguration()
                .setName("mooncake")
                .setInitialSize(10L << 20)
                .setMaxSize(20_480_000)
                .setPageEvictionMode(DataPageEvictionMode.RANDOM_LRU);
    }

    private static IgniteConfiguration with(DataRegionConfiguration region) {
        return new IgniteConfiguration()
                .setDataStorageConfiguration(new DataStorageConfiguration().setDataRegionConfigurations(region));
    }
}
