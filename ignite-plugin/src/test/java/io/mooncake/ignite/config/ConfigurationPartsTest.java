// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import java.util.List;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.Test;

class ConfigurationPartsTest {
    private static final KvIdentity IDENTITY = new KvIdentity(
            "a".repeat(64),
            "b".repeat(64),
            "",
            "djl-1",
            "rope(base=1,\\x\ny)",
            ReuseMode.FAST,
            KvDataType.F16,
            2,
            3,
            4,
            5,
            1,
            0);

    @Test
    void identity_roundTrip_isTheSame() {
        assertThat(IdentityText.parse(IdentityText.encode(IDENTITY))).isEqualTo(IDENTITY);
    }

    @Test
    void identity_text_isFixed() {
        assertThat(IdentityText.encode(IDENTITY))
                .isEqualTo("modelDigest=" + "a".repeat(64) + "\ntokenizerDigest="
                        + "b".repeat(64)
                        + "\nadapterDigest=\nengineLayout=djl-1\nrope=rope(base=1,\\\\x\\ny)\nmode=FAST\n"
                        + "dataType=F16\nlayers=2\nkvHeads=3\nheadSize=4\nblockTokens=5\ntensorParallelSize=1\n"
                        + "tensorParallelRank=0\n");
    }

    @Test
    void identity_differences_nameFieldAndBothValues() {
        String text = IdentityText.encode(IDENTITY);
        assertThat(IdentityText.differences(text, text)).isEmpty();
        assertThat(IdentityText.differences(text, text.replace("layers=2", "layers=7") + "window=9\n"))
                .containsExactly("layers 2 against 7", "window nothing against 9");
    }

    @Test
    void identity_notAnIdentity_isRefused() {
        assertThatThrownBy(() -> IdentityText.parse("layers=2"))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("no modelDigest");
    }

    @Test
    void nearest_typo_isFoundAndNonsenseIsNot() {
        assertThat(ConfigurationNames.nearest("drma")).contains("dram");
        assertThat(ConfigurationNames.nearest("portfrm")).contains("portFrom");
        assertThat(ConfigurationNames.nearest("fetchTimeout")).contains("fetchTimeoutMillis");
        assertThat(ConfigurationNames.nearest("zzzzzzzz")).isEmpty();
        assertThat(ConfigurationNames.nearest("x", List.of())).isEmpty();
    }

    @Test
    void plan_persistentRegion_countsCheckpointBuffer() {
        IgniteConfiguration config = new IgniteConfiguration()
                .setDataStorageConfiguration(new DataStorageConfiguration()
                        .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                                .setMaxSize(4L << 30)
                                .setPersistenceEnabled(true)));
        MemoryPlan plan = MemoryPlan.of(
                config, new MemoryPlan.OwnParts(8L << 30, 1L << 28, 1L << 29, 1L << 24, 1L << 30), 16L << 30);
        assertThat(plan.parts())
                .containsEntry("Ignite region 'default'", 4L << 30)
                .containsEntry("checkpoint buffer of 'default'", 1L << 30)
                .containsEntry("dram of this plugin", 8L << 30)
                .containsEntry("index of other nodes' blocks", 1L << 29)
                .containsEntry("extensions", 1L << 30);
        assertThat(plan.totalBytes())
                .isEqualTo((14L << 30)
                        + (1L << 29)
                        + (1L << 24)
                        + Runtime.getRuntime().maxMemory()
                        + (100L << 20)
                        + MemoryPlan.OVERHEAD_BYTES);
        assertThat(plan.toString())
                .contains("Java heap (-Xmx, of it 256.0 MiB for ssd)")
                .contains("dram of this plugin 8.0 GiB")
                .endsWith("of 16.0 GiB");
    }

    @Test
    void plan_clientNode_hasNoRegions() {
        MemoryPlan plan = MemoryPlan.of(
                new IgniteConfiguration().setClientMode(true), new MemoryPlan.OwnParts(0, 0, 0, 0, 0), 64L << 30);
        assertThat(plan.parts().keySet()).noneMatch(name -> name.contains("region"));
        assertThat(plan.fits()).isTrue();
    }
}
