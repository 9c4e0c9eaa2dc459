// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.fourjvms;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.it.support.PoolProcesses;
import io.mooncake.it.support.PoolProcesses.Node;
import io.mooncake.testkit.MooncakeCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Four processes, two of which hold a prompt. The one that it is read from is killed at the beginning, in the middle and at the end of a transfer, and
 * come back at once under their consistent ids: the other copy serves, with every byte right, nobody else is lost, and nothing of the old
 * life is believed.
 */
class FourJvmsIT {
    private static final Duration FAILURE_DETECTION = Duration.ofSeconds(10);
    /** Blocks of 256 KiB: a transfer long enough to be met in its middle. */
    private static final int BLOCKS = 64;

    private static final int WHOLE = BLOCKS * PoolProcesses.BLOCK_TOKENS;
    private static final int LENGTH = WHOLE + 1;
    private static final double[] WHEN = {0, 0.5, 0.99};

    @Test
    void kill_holderAtAnyMomentOfATransfer_theOtherCopyServesAndItsNextLifeIsUsed(@TempDir Path folder) {
        try (PoolProcesses cluster = new PoolProcesses(
                folder, FAILURE_DETECTION, "pool.layers=8", "pool.dram=160MiB", "pool.protocol=tcp")) {
            List<Node> nodes = new ArrayList<>(
                    List.of(cluster.launch("a"), cluster.launch("b"), cluster.launch("c"), cluster.launch("d")));
            PoolProcesses.awaitTogether(nodes);
            long transfer = measure(nodes);
            for (int round = 0; round < WHEN.length; round++) {
                int seed = 10 + round;
                Node reader = reader(nodes, seed);
                // The one that it is about to read from.
                Set<UUID> sources = reader.sources(seed, LENGTH);
                Node victim = nodes.stream()
                        .filter(node -> sources.contains(node.id()))
                        .findFirst()
                        .orElseThrow();
                UUID dead = victim.id();
                int command = reader.tell("take " + seed + " " + LENGTH);
                pause((long) (transfer * WHEN[round]));
                victim.process().kill();
                long killed = System.nanoTime();
                // The next life asks to join while the old one is still there.
                Node reborn = cluster.launch(victim.name());

                assertThat(reader.taken(command)[0])
                        .as("tokens, holder killed at " + WHEN[round])
                        .isEqualTo(WHOLE);
                nodes.remove(victim);
                for (Node survivor : nodes) {
                    MooncakeCluster.await(
                            survivor.name() + " to give up what the dead had",
                            () -> !survivor.holders(seed, LENGTH).contains(dead));
                }
                assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(FAILURE_DETECTION.multipliedBy(4));
                nodes.add(reborn);
                PoolProcesses.awaitTogether(nodes);
                assertThat(reborn.id()).isNotEqualTo(dead);
                rejoined(nodes, reborn, seed);
            }
            assertThat(nodes).allMatch(node -> node.process().alive());
        }
    }

    /** How long a transfer takes here, when nobody is killed. */
    private static long measure(List<Node> nodes) {
        Node reader = reader(nodes, 1);
        long start = System.nanoTime();
        assertThat(reader.take(1, LENGTH)).containsExactly(WHOLE, WHOLE);
        return System.nanoTime() - start;
    }

    /** Gives a prompt to the first two nodes; returns the last, which has none of it and knows both. */
    private static Node reader(List<Node> nodes, int seed) {
        Node owner = nodes.get(0);
        owner.ask("store " + seed + " " + LENGTH);
        Node second = nodes.get(1);
        awaitHolders(second, seed, Set.of(owner.id()));
        assertThat(second.take(seed, LENGTH)).containsExactly(WHOLE, WHOLE);
        for (Node node : nodes) {
            awaitHolders(node, seed, Set.of(owner.id(), second.id()));
        }
        return nodes.get(nodes.size() - 1);
    }

    private static void awaitHolders(Node at, int seed, Set<UUID> expected) {
        MooncakeCluster.await(at.name() + " to know the holders of " + seed, () -> at.holders(seed, LENGTH)
                .equals(expected));
    }

    /** The new life takes what the others have, and they take what it stores. */
    private static void rejoined(List<Node> nodes, Node reborn, int seed) {
        MooncakeCluster.await(
                "it knows the copies", () -> !reborn.holders(seed, LENGTH).isEmpty());
        assertThat(reborn.take(seed, LENGTH)[0]).isEqualTo(WHOLE);
        int small = 3 * PoolProcesses.BLOCK_TOKENS + 1;
        reborn.ask("store " + (100 + seed) + " " + small);
        for (Node node : nodes) {
            MooncakeCluster.await(
                    node.name() + " to know what the new life stored",
                    () -> node.holders(100 + seed, small).contains(reborn.id()));
            assertThat(node.take(100 + seed, small)[0]).isEqualTo(small - 1);
        }
    }

    private static void pause(long nanos) {
        try {
            TimeUnit.NANOSECONDS.sleep(nanos);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
