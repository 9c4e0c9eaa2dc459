// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.partition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.it.support.PoolProcesses;
import io.mooncake.it.support.PoolProcesses.Node;
import io.mooncake.testkit.MooncakeCluster;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Four processes on four hosts whose network is cut in silence. Each side gives up the other within four times the failure detection and
 * serves its own; no byte is wrong. When the network is whole the losing side ends, and as new lives they are one cluster again. Needs root.
 */
class PartitionIT {
    private static final Duration FAILURE_DETECTION = Duration.ofSeconds(8);
    private static final int LENGTH = 6 * PoolProcesses.BLOCK_TOKENS + 1;
    private static final int WHOLE = LENGTH - 1;

    @TempDir
    private Path folder;

    private PartitionNetwork network;
    private PoolProcesses cluster;
    private final List<Node> nodes = new ArrayList<>();

    @BeforeEach
    void start() throws IOException {
        String unavailable = PartitionNetwork.unavailable();
        assumeTrue(unavailable.isEmpty(), unavailable);
        network = new PartitionNetwork(4);
        cluster = new PoolProcesses(folder, FAILURE_DETECTION);
        nodes.add(launch(0));
        // Of two halves that which lacks the oldest node loses.
        assertThat(nodes.get(0).id()).isNotNull();
        for (int i = 1; i < 4; i++) {
            nodes.add(launch(i));
        }
        PoolProcesses.awaitTogether(nodes);
        for (int i = 0; i < 4; i++) {
            nodes.get(i).ask("store " + i + " " + LENGTH);
        }
        for (Node node : nodes) {
            for (int i = 0; i < 4; i++) {
                awaitHolders(node, i, Set.of(nodes.get(i).id()));
            }
        }
    }

    @AfterEach
    void stop() {
        if (cluster != null) {
            cluster.close();
        }
        if (network != null) {
            network.close();
        }
    }

    @Test
    void cut_oneWayThenHalfFromHalf_eachSideServesItsOwnAndIsOneAgainAfterwards() throws IOException {
        oneWay();
        half();
    }

    /** What goes to the last node is lost; what it sends arrives. */
    private void oneWay() throws IOException {
        long cut = System.nanoTime();
        for (int i = 0; i < 3; i++) {
            network.cut(i, 3);
        }
        awaitSide(List.of(0, 1, 2));
        assertThat(Duration.ofNanos(System.nanoTime() - cut)).isLessThan(FAILURE_DETECTION.multipliedBy(4));
        assertThat(nodes.get(0).take(3, LENGTH)).containsExactly(0, 0);
        assertThat(nodes.get(0).take(2, LENGTH)).containsExactly(WHOLE, WHOLE);
        for (int i = 0; i < 3; i++) {
            network.heal(i, 3);
        }
        awaitEndAndRestart(List.of(3));
        nodes.get(3).ask("store 3 " + LENGTH);
        awaitHolders(nodes.get(1), 3, Set.of(nodes.get(3).id()));
    }

    private void half() throws IOException {
        long cut = System.nanoTime();
        for (int a : new int[] {0, 1}) {
            for (int b : new int[] {2, 3}) {
                network.cut(a, b);
                network.cut(b, a);
            }
        }
        PoolProcesses.awaitTogether(List.of(nodes.get(0), nodes.get(1)));
        PoolProcesses.awaitTogether(List.of(nodes.get(2), nodes.get(3)));
        awaitHolders(nodes.get(0), 3, Set.of());
        awaitHolders(nodes.get(1), 3, Set.of());
        awaitHolders(nodes.get(2), 1, Set.of());
        awaitHolders(nodes.get(3), 1, Set.of());
        assertThat(Duration.ofNanos(System.nanoTime() - cut)).isLessThan(FAILURE_DETECTION.multipliedBy(4));
        assertThat(nodes.get(0).take(1, LENGTH)).containsExactly(WHOLE, WHOLE);
        assertThat(nodes.get(0).take(3, LENGTH)).containsExactly(0, 0);
        assertThat(nodes.get(2).take(3, LENGTH)).containsExactly(WHOLE, WHOLE);
        assertThat(nodes.get(3).take(1, LENGTH)).containsExactly(0, 0);
        for (int a : new int[] {0, 1}) {
            for (int b : new int[] {2, 3}) {
                network.heal(a, b);
                network.heal(b, a);
            }
        }
        awaitEndAndRestart(List.of(2, 3));
    }

    /** Ignite does not join what was split: the losing side finds out, ends, and is started anew. All four are one cluster then. */
    private void awaitEndAndRestart(List<Integer> hosts) {
        for (int i : hosts) {
            assertThat(nodes.get(i).process().exitCode(Duration.ofSeconds(60)))
                    .as("node " + i + " ends by itself")
                    .isNotZero();
        }
        for (int i : hosts) {
            nodes.set(i, launch(i));
        }
        PoolProcesses.awaitTogether(nodes);
        MooncakeCluster.await(
                "the last to know what the first has",
                () -> nodes.get(3).holders(0, LENGTH).contains(nodes.get(0).id()));
        assertThat(nodes.get(3).take(0, LENGTH)).containsExactly(WHOLE, WHOLE);
    }

    private Node launch(int host) {
        String addresses = java.util.stream.IntStream.range(0, 4)
                .mapToObj(i -> network.address(i) + ":" + cluster.firstPort())
                .collect(Collectors.joining(","));
        return cluster.launch("node-" + host, network.address(host), addresses, network.launcher(host));
    }

    /** The nodes of this side see each other and nobody else, and believe in nobody else's blocks. */
    private void awaitSide(List<Integer> side) {
        PoolProcesses.awaitTogether(side.stream().map(nodes::get).toList());
        for (int at : side) {
            for (int i = 0; i < 4; i++) {
                awaitHolders(
                        nodes.get(at), i, side.contains(i) ? Set.of(nodes.get(i).id()) : Set.of());
            }
        }
    }

    private static void awaitHolders(Node at, int seed, Set<UUID> expected) {
        MooncakeCluster.await(at.name() + " to know the holders of " + seed, () -> at.holders(seed, LENGTH)
                .equals(new TreeSet<>(expected)));
    }
}
