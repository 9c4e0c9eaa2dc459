// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.BlockPut;
import io.mooncake.ignite.BlockResult;
import io.mooncake.ignite.BlockResult.Status;
import io.mooncake.ignite.BlockSet;
import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.PutOptions;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.Tenant;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Blocks by key on three nodes: whatever is asked of one of them holds for all. */
class ClusterBlocksTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int TOKENS = 16;
    private static final PutOptions HERE = new PutOptions(1, PATIENCE);

    private static TestGrid grid;
    private static Ignite first;
    private static Ignite second;
    private static Ignite third;

    @BeforeAll
    static void start() {
        grid = new TestGrid();
        first = grid.start("first");
        second = grid.start("second");
        third = grid.start("third");
        for (Ignite node : List.of(first, second, third)) {
            TestGrid.await(
                    "three nodes known on " + node.name(),
                    () -> Mooncake.of(node).storeNodes().size() == 3);
        }
    }

    @AfterAll
    static void stop() {
        grid.close();
    }

    private static KvBlocks blocks(Ignite ignite) {
        return Mooncake.of(ignite).blocks("tiny");
    }

    private static int bytes() {
        return Mooncake.of(first).pool("tiny").layout().payloadBytes();
    }

    private static byte[] payload(long seed) {
        byte[] bytes = new byte[bytes()];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** A chain of {@code count} blocks. */
    private static List<BlockPut> chain(KvBlocks blocks, long seed, int count) {
        int[] tokens = TestBlocks.prompt(seed, count * TOKENS);
        List<BlockPut> chain = new ArrayList<>();
        BlockKey parent = blocks.root();
        for (int i = 0; i < count; i++) {
            int[] own = Arrays.copyOfRange(tokens, i * TOKENS, (i + 1) * TOKENS);
            ByteBuffer payload = i % 2 == 0
                    ? ByteBuffer.wrap(payload(seed + i))
                    : ByteBuffer.allocateDirect(bytes()).put(payload(seed + i)).flip();
            chain.add(new BlockPut(parent, i, own, payload));
            parent = blocks.key(parent, own);
        }
        return chain;
    }

    private static List<BlockKey> keys(List<BlockResult> results) {
        return results.stream().map(BlockResult::key).toList();
    }

    private static void awaitFound(Ignite ignite, List<BlockKey> keys, int copies) {
        TestGrid.await(copies + " copies known on " + ignite.name(), () -> blocks(ignite).exists(keys).stream()
                .allMatch(result -> result.copies() == copies));
    }

    @Test
    void put_thenGetElsewhere_sameBytes() {
        List<BlockPut> chain = chain(blocks(first), 1000, 5);
        List<BlockResult> put = blocks(first).put(chain, HERE);
        assertThat(put).allSatisfy(result -> {
            assertThat(result.status()).isEqualTo(Status.STORED);
            assertThat(result.copies()).isEqualTo(1);
        });
        List<BlockKey> keys = new ArrayList<>(keys(put));
        awaitFound(second, keys, 1);
        keys.add(new BlockKey(1, 2, 3, 4));

        try (BlockSet taken = blocks(second).get(keys, PATIENCE)) {
            for (int i = 0; i < 5; i++) {
                assertThat(taken.results().get(i).status()).isEqualTo(Status.FOUND);
                PinnedBlock block = taken.block(i);
                byte[] bytes = new byte[bytes()];
                MemoryUtil.copyFromMemory(block.address(), bytes, 0, bytes.length);
                assertThat(bytes).isEqualTo(payload(1000 + i));
            }
            assertThat(taken.results().get(5).status()).isEqualTo(Status.ABSENT);
            assertThat(taken.block(5)).isNull();
        }
        awaitFound(first, keys.subList(0, 5), 2);
        assertThat(blocks(first).put(chain, HERE))
                .allSatisfy(result -> assertThat(result.status()).isEqualTo(Status.EXISTING));
        assertThat(Mooncake.of(first)
                        .blocks("tiny", new Tenant("other", new byte[] {7}))
                        .root())
                .isNotEqualTo(blocks(first).root());
    }

    @Test
    void put_threeReplicas_areOnAllNodes() {
        List<BlockResult> put = blocks(first).put(chain(blocks(first), 2000, 3), new PutOptions(3, PATIENCE));

        assertThat(put).allSatisfy(result -> {
            assertThat(result.status()).isEqualTo(Status.STORED);
            assertThat(result.copies()).isEqualTo(3);
            assertThat(result.detail()).isEmpty();
        });
        for (Ignite node : List.of(second, third)) {
            try (BlockSet here = blocks(node).get(keys(put), PATIENCE)) {
                assertThat(here.results())
                        .allSatisfy(result -> assertThat(result.status()).isEqualTo(Status.FOUND));
            }
        }
    }

    @Test
    void remove_anywhere_isGoneEverywhere() {
        List<BlockResult> put = blocks(first).put(chain(blocks(first), 3000, 2), new PutOptions(2, PATIENCE));
        List<BlockKey> keys = keys(put);
        awaitFound(first, keys, 2);
        awaitFound(second, keys, 2);
        awaitFound(third, keys, 2);

        // The last first: with the first its chain goes.
        BlockResult last = blocks(third).remove(List.of(keys.get(1)), PATIENCE).get(0);
        assertThat(last.status()).isEqualTo(Status.DONE);
        assertThat(last.copies()).isEqualTo(2);
        for (Ignite node : List.of(first, second, third)) {
            awaitFound(node, List.of(keys.get(1)), 0);
        }
        assertThat(blocks(first).exists(keys).get(1).status()).isEqualTo(Status.ABSENT);
        assertThat(blocks(third).remove(List.of(keys.get(1)), PATIENCE).get(0).status())
                .isEqualTo(Status.ABSENT);
    }

    @Test
    void pinHard_onAnotherNode_holdsUntilUnpinned() {
        List<BlockKey> keys = keys(blocks(first).put(chain(blocks(first), 4000, 2), HERE));
        awaitFound(second, keys, 1);

        assertThat(blocks(second).pinHard(keys, PATIENCE)).allSatisfy(result -> {
            assertThat(result.status()).isEqualTo(Status.PINNED);
            assertThat(result.detail())
                    .contains(first.cluster().localNode().id().toString());
        });
        BlockResult refused =
                blocks(second).remove(keys.subList(1, 2), PATIENCE).get(0);
        assertThat(refused.status()).isEqualTo(Status.REFUSED);
        assertThat(refused.detail()).contains("hard pin");
        assertThat(blocks(second).unpin(keys, PATIENCE))
                .allSatisfy(result -> assertThat(result.status()).isEqualTo(Status.DONE));
        assertThat(blocks(second).remove(keys.subList(1, 2), PATIENCE).get(0).status())
                .isEqualTo(Status.DONE);
        assertThat(blocks(second)
                        .pinSoft(List.of(new BlockKey(9, 9, 9, 9)), Duration.ofSeconds(1), PATIENCE)
                        .get(0)
                        .status())
                .isEqualTo(Status.ABSENT);
    }

    @Test
    void pinSoft_here_isPinned() {
        List<BlockKey> keys = keys(blocks(first).put(chain(blocks(first), 5000, 1), HERE));
        assertThat(blocks(first)
                        .pinSoft(keys, Duration.ofMinutes(1), PATIENCE)
                        .get(0)
                        .status())
                .isEqualTo(Status.PINNED);
        assertThat(blocks(first).unpin(keys, PATIENCE).get(0).status()).isEqualTo(Status.DONE);
    }

    @Test
    void put_noRoom_saysSoWhenTheTimeIsOver() {
        try (TestGrid small = new TestGrid()) {
            Ignite node = small.start("small", small.provider().setDram("64KiB"));
            KvBlocks blocks = blocks(node);
            List<BlockPut> chain = chain(blocks, 6000, 40);
            int room = (int) Mooncake.of(node).statistics().capacityBlocks();
            List<BlockKey> keys = keys(blocks.put(chain.subList(0, room), HERE));
            BlockSet held = blocks.get(keys, PATIENCE);
            PutOptions hasty = new PutOptions(1, Duration.ofSeconds(2));

            assertThat(blocks.put(chain.subList(room, room + 1), hasty).get(0).status())
                    .isEqualTo(Status.NO_ROOM);
            held.close();
            assertThat(blocks.put(chain.subList(room, room + 1), new PutOptions(1, PATIENCE))
                            .get(0)
                            .status())
                    .isEqualTo(Status.STORED);
            Ignition.stop(node.name(), true);
        }
    }

    @Test
    void calls_badInput_areRefusedAtOnceAndNamed() {
        KvBlocks blocks = blocks(first);
        List<BlockPut> chain = chain(blocks, 7000, 1);
        BlockPut right = chain.get(0);
        List<BlockKey> key = List.of(new BlockKey(1, 1, 1, 1));
        assertThatThrownBy(() -> Mooncake.of(first).blocks("none")).hasMessageContaining("none");
        assertThatThrownBy(() -> blocks.put(chain, new PutOptions(4, PATIENCE)))
                .isInstanceOf(MooncakeException.class)
                .hasMessage("replicas: 4 (expected: 1..3, the nodes that hold pool tiny)");
        assertThatThrownBy(() -> blocks.put(chain, new PutOptions(0, PATIENCE))).hasMessageContaining("replicas: 0");
        assertThatThrownBy(() -> blocks.put(chain, new PutOptions(1, Duration.ZERO)))
                .hasMessageContaining("timeout: PT0S");
        assertThatThrownBy(() -> blocks.put(List.of(), HERE)).hasMessageContaining("blocks: 0");
        assertThatThrownBy(
                        () -> blocks.put(List.of(new BlockPut(right.parent(), 0, new int[3], right.payload())), HERE))
                .hasMessageContaining("blocks[0].tokens.length: 3");
        int[] negative = right.tokens().clone();
        negative[5] = -1;
        assertThatThrownBy(() -> blocks.put(List.of(new BlockPut(right.parent(), 0, negative, right.payload())), HERE))
                .hasMessageContaining("blocks[0].tokens[5]: -1");
        assertThatThrownBy(() -> blocks.put(
                        List.of(new BlockPut(right.parent(), 0, right.tokens(), ByteBuffer.allocate(3))), HERE))
                .hasMessageContaining("blocks[0].payload: 3 bytes");
        assertThatThrownBy(() ->
                        blocks.put(List.of(new BlockPut(right.parent(), -1, right.tokens(), right.payload())), HERE))
                .hasMessageContaining("blocks[0].depth: -1");
        assertThatThrownBy(() -> blocks.pinSoft(key, Duration.ofSeconds(-1), PATIENCE))
                .hasMessageContaining("pin time: PT-1S");
        assertThatThrownBy(() -> blocks.get(key, Duration.ofMillis(-5))).hasMessageContaining("timeout: PT-0.005S");
        assertThatThrownBy(() -> blocks.key(blocks.root(), new int[1])).hasMessageContaining("tokens.length: 1");
        assertThat(blocks.exists(key).get(0).status()).isEqualTo(Status.ABSENT);
    }
}
