// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.adapter.control.ControlScript.Run;
import io.mooncake.ignite.conductor.Blocks;
import io.mooncake.ignite.node.NodeEngines;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.Tenant;
import java.util.Arrays;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.ignite.Ignite;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Ignite's control script, as {@code control.sh} runs it, against real nodes. */
class ControlScriptTest {
    private static final String POOL = "tiny";
    private static final int BAD_ARGUMENTS = 1;
    private static TestGrid grid;
    private static Ignite first;
    private static Ignite second;
    private static int port;
    private static int plainPort;

    @BeforeAll
    static void start() throws Exception {
        grid = new TestGrid();
        port = grid.connectorPort(0);
        plainPort = grid.connectorPort(1);
        first = grid.start("first", config -> {
            config.setClientConnectorConfiguration(connector(port));
            config.setPluginProviders(grid.provider());
        });
        second = grid.start("second");
        grid.start("plain", config -> config.setClientConnectorConfiguration(connector(plainPort)));
        Blocks.store(Mooncake.of(first).pool(POOL), Blocks.prompt(1, 1, 2, 3));
    }

    @AfterAll
    static void stop() {
        grid.close();
    }

    @Test
    void blocks_ofTheCluster_areListedByNode() throws Exception {
        Run run = script("blocks");

        assertThat(run.code()).isZero();
        assertThat(run.lines())
                .contains("Node " + first.cluster().localNode().id() + " ("
                        + first.cluster().localNode().consistentId() + ")")
                .contains("Node " + second.cluster().localNode().id() + " ("
                        + second.cluster().localNode().consistentId() + ")")
                .contains("  3 blocks")
                .anyMatch(line ->
                        line.matches(" {2}pool=tiny prefix=[0-9a-f]{64} parent=.* depth=2 tokens=16 .*tier=DRAM.*"));
        assertThat(run.lines()).noneMatch(line -> line.contains("plain"));
    }

    @Test
    void blocks_limitAndPool_holdBack() throws Exception {
        assertThat(script("blocks", "--limit", "2").lines()).contains("  2 blocks, and more (--limit)");
        assertThat(script("blocks", "--pool", "other").lines())
                .contains("  0 blocks")
                .doesNotContain("  3 blocks");
        assertThat(script("blocks", "--limit", "0").code()).isEqualTo(BAD_ARGUMENTS);
    }

    @Test
    void explain_aPrompt_tellsEachNodesPieces() throws Exception {
        String tokens = Arrays.stream(Blocks.prompt(1, 1, 2, 3))
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(","));
        TestGrid.await(
                "the second node knows the blocks",
                () -> Mooncake.of(second).statistics().indexEntries() >= 3);

        Run run = script("explain", "--pool", POOL, "--tokens", tokens);

        assertThat(run.code()).isZero();
        assertThat(run.lines())
                .contains("  49 tokens, 48 reusable at most")
                .contains("  0..48 from " + first.cluster().localNode().id() + " DRAM by LOCAL")
                // The first node, or one that was warmed with its blocks.
                .anyMatch(line -> line.matches("  0\\.\\.48 from [0-9a-f-]{36} DRAM by (SHARED_MEMORY|TCP|RDMA)"));
    }

    @Test
    void scrub_aDamagedBlock_isDroppedWithWhatFollows() throws Exception {
        int[] tokens = Blocks.prompt(2, 1, 0, 3);
        LocalKvPool pool = NodeEngines.pool(second, POOL);
        Blocks.store(Mooncake.of(second).pool(POOL), tokens);
        assertThat(script("scrub").lines()).allMatch(line -> !line.contains("dropped ") && !line.contains("pinned "));
        BlockKey middle = pool.chain(Tenant.DEFAULT, tokens).get(1);
        try (PinnedBlock block = Objects.requireNonNull(pool.pin(middle))) {
            MemoryUtil.putByte(block.address(), (byte) ~MemoryUtil.getByte(block.address()));
        }

        Run run = script("scrub", "--pool", POOL);

        assertThat(run.code()).isZero();
        assertThat(run.lines())
                .contains("    dropped " + middle.hex())
                // How many it holds besides is the other tests' affair: a drain of another node may have brought some.
                .anyMatch(line -> line.matches(
                        "  tiny: \\d+ blocks of \\d+ bytes checked, 1 damaged and dropped, 0 damaged and pinned"));
        assertThat(Blocks.reuse(pool, tokens)).isEqualTo(16);
        assertThat(script("scrub", "--pool", "other").lines()).contains("  no such pool here");
    }

    @Test
    void warmAndDrain_moveBlocks() throws Exception {
        Ignite third = grid.start("third");
        String id = third.cluster().localNode().id().toString();
        TestGrid.await(
                "the new node knows the blocks",
                () -> Mooncake.of(third).statistics().indexEntries() >= 3);

        Run warm = script("warm", "--node-id", id, "--pool", POOL, "--max-blocks", "10", "--timeout-millis", "60000");
        assertThat(warm.code()).isZero();
        assertThat(warm.lines()).hasSize(2).anyMatch(line -> line.matches("  \\d+ blocks came"));

        Run drain = script("drain", "--node-id", id, "--timeout-millis", "60000");
        assertThat(drain.code()).isZero();
        assertThat(drain.lines())
                .hasSize(2)
                .anyMatch(line ->
                        line.matches("  \\d+ blocks of \\d+ bytes moved, 0 left that only this node has, in \\d+ ms"));
        assertThat(script("drain", "--node-id", id, "--resume").lines()).contains("  takes requests and copies again");
    }

    @Test
    void quota_setAndTakenAway_isListed() throws Exception {
        TestGrid.await(
                "quota set",
                () -> script("quota", "--tenant", "acme", "--dram-bytes", "1000000")
                                .code()
                        == 0);
        TestGrid.await("whichever node is asked knows it", () -> script("quota")
                .lines()
                .contains("  acme: 1000000 bytes of memory, any number of SSD on each node"));
        Run away = script("quota", "--tenant", "acme", "--unlimited");
        assertThat(away.code()).isZero();
        assertThat(away.lines()).contains("  no quota");
        assertThat(script("quota", "--tenant", "acme", "--dram-bytes", "-1").code())
                .isEqualTo(BAD_ARGUMENTS);
    }

    @Test
    void warmAndDrain_wrongInput_isRefused() throws Exception {
        String nobody = UUID.randomUUID().toString();
        assertThat(script("drain", "--node-id", nobody).code()).isNotZero();
        assertThat(script("drain").code()).isEqualTo(BAD_ARGUMENTS);
        assertThat(script("drain", "--node-id", nobody, "--timeout-millis", "0").code())
                .isEqualTo(BAD_ARGUMENTS);
        assertThat(script("warm", "--node-id", nobody, "--pool", POOL, "--max-blocks", "-1")
                        .code())
                .isEqualTo(BAD_ARGUMENTS);
    }

    @Test
    void explain_wrongInput_isRefused() throws Exception {
        assertThat(script("explain", "--pool", POOL, "--tokens", "1,two").code())
                .isEqualTo(BAD_ARGUMENTS);
        assertThat(script("explain", "--pool", POOL).code()).isEqualTo(BAD_ARGUMENTS);
        assertThat(script("explain", "--pool", "nowhere", "--tokens", "1,2").code())
                .isNotZero();
    }

    @Test
    void commands_throughANodeWithoutThePlugin_reachThoseThatHaveIt() throws Exception {
        // A node without the plugin but with its jar: one without the jar doesn't know the task's class, so ask
        // another.
        Run run = ControlScript.run(plainPort, "blocks");

        assertThat(run.code()).isZero();
        assertThat(run.lines()).contains("  3 blocks");
    }

    private static Run script(String... command) throws Exception {
        return ControlScript.run(port, command);
    }

    private static ClientConnectorConfiguration connector(int port) {
        return new ClientConnectorConfiguration()
                .setHost("127.0.0.1")
                .setPort(port)
                .setPortRange(0);
    }
}
