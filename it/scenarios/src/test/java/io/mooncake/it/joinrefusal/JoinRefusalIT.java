// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.joinrefusal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.it.support.NodeProcesses;
import io.mooncake.testkit.ForkedJvm;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nodes that would mix what must not be mixed are refused when they ask to join, with both values named. */
class JoinRefusalIT {
    @Test
    void join_sameNameOtherBlockSize_isRefusedNamingBoth(@TempDir Path folder) throws Exception {
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.testConfig("block-size-node.xml"))) {
            ForkedJvm a = cluster.start("a", "mooncake.block.tokens=64");
            ForkedJvm b = cluster.launch("b", "mooncake.block.tokens=32");

            assertThat(b.exitCode(Duration.ofSeconds(90))).isEqualTo(1);
            assertThat(b.output()).contains("smollm2", "blockTokens", "32", "64");
            assertThat(a.alive()).isTrue();
        }
    }

    @Test
    void join_otherSecret_isRefused(@TempDir Path folder) throws Exception {
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.testConfig("block-size-node.xml"))) {
            ForkedJvm a = cluster.start("a", "mooncake.block.tokens=64");
            ForkedJvm b = cluster.launch("b", "mooncake.block.tokens=64", "mooncake.secret=somebody-elses-secret");

            assertThat(b.exitCode(Duration.ofSeconds(90))).isEqualTo(1);
            assertThat(b.output()).contains("secret").doesNotContain("somebody-elses-secret");
            assertThat(a.alive()).isTrue();
        }
    }
}
