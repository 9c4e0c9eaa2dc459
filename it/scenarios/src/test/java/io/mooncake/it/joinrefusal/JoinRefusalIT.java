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
    void join_otherBlockSizeOrSecret_isRefusedNamingIt(@TempDir Path folder) throws Exception {
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.testConfig("block-size-node.xml"))) {
            ForkedJvm a = cluster.start("a", "mooncake.block.tokens=64");
            ForkedJvm other = cluster.launch("b", "mooncake.block.tokens=32");
            ForkedJvm stranger =
                    cluster.launch("c", "mooncake.block.tokens=64", "mooncake.secret=somebody-elses-secret");

            assertThat(other.exitCode(Duration.ofSeconds(90))).isEqualTo(1);
            assertThat(other.output()).contains("smollm2", "blockTokens", "32", "64");
            assertThat(stranger.exitCode(Duration.ofSeconds(90))).isEqualTo(1);
            assertThat(stranger.output()).contains("secret").doesNotContain("somebody-elses-secret");
            assertThat(a.alive()).isTrue();
        }
    }
}
