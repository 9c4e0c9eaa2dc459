// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestBlocks.Taken;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.Tenant;
import java.util.List;
import org.apache.ignite.Ignite;
import org.junit.jupiter.api.Test;

/** A node that speaks the previous protocol lives beside those of this one. */
class ProtocolTest {
    private static NodeRuntime runtime(Ignite ignite) {
        return ((MooncakeNode) Mooncake.of(ignite)).runtime();
    }

    private static void awaitIndexed(Ignite at, Ignite holder, int[] tokens) {
        TestGrid.await(
                at.name() + " knows what " + holder.name() + " holds",
                () -> runtime(at).index().holders("tiny", Tenant.DEFAULT, tokens).stream()
                        .anyMatch(holding -> holding.nodeId()
                                        .equals(holder.cluster().localNode().id())
                                && holding.tokens() == 32));
    }

    private static int version(Ignite at, Ignite owner) {
        return runtime(at)
                .followed(owner.cluster().localNode().id())
                .orElseThrow()
                .version();
    }

    private static Ignite startOld(TestGrid grid) {
        System.setProperty(NodeAttributes.PROTOCOL_LIMIT, "1");
        try {
            return grid.start("old");
        } finally {
            System.clearProperty(NodeAttributes.PROTOCOL_LIMIT);
        }
    }

    @Test
    void decide_forATenant_neverOnTheOldNode() {
        try (TestGrid grid = new TestGrid()) {
            Ignite old = startOld(grid);
            Ignite first = grid.start("a");
            int[] prompt = TestBlocks.prompt(3, 33);
            Route route = Route.of("tiny", prompt).tenant("acme");
            // By turns, were both asked.
            for (int i = 0; i < 4; i++) {
                assertThat(Mooncake.of(first).decide(route).nodeId())
                        .isEqualTo(first.cluster().localNode().id());
            }
            assertThatThrownBy(() -> Mooncake.of(first)
                            .decide(route.onNode(old.cluster().localNode().id())))
                    .isInstanceOf(MooncakeException.class);
        }
    }

    @Test
    void join_previousProtocolOtherWeights_isRefused() {
        try (TestGrid grid = new TestGrid()) {
            startOld(grid);
            assertThatThrownBy(() -> grid.start(
                            "a",
                            grid.provider()
                                    .setPools(List.of(TestGrid.pool("tiny").setModel("new")))))
                    .hasStackTraceContaining("Mooncake pool tiny: modelDigest");
        }
    }

    @Test
    void join_previousProtocol_blocksAreFoundBothWays() {
        try (TestGrid grid = new TestGrid()) {
            Ignite old = startOld(grid);
            Ignite first = grid.start("a");
            Ignite second = grid.start("b");
            assertThat(old.cluster().localNode().<String>attribute(NodeAttributes.PROTOCOL))
                    .isEqualTo("1..1");
            int[] olds = TestBlocks.prompt(1, 33);
            int[] news = TestBlocks.prompt(2, 33);
            TestBlocks.store(Mooncake.of(old).pool("tiny"), olds);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), news);
            awaitIndexed(first, old, olds);
            awaitIndexed(old, first, news);
            awaitIndexed(second, first, news);
            assertThat(version(old, first)).isEqualTo(1);
            assertThat(version(first, old)).isEqualTo(1);
            assertThat(version(second, first)).isEqualTo(2);
            assertThat(TestBlocks.take(Mooncake.of(old).pool("tiny"), news)).isEqualTo(new Taken(32, 0, 32, "NONE"));
            assertThat(TestBlocks.take(Mooncake.of(first).pool("tiny"), olds)).isEqualTo(new Taken(32, 0, 32, "NONE"));
        }
    }
}
