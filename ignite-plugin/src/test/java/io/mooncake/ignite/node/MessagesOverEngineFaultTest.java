// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.ignite.TestGrid;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import io.mooncake.transfer.ignite.messages.MessageStatistics;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteMessaging;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Messages over the engine while connections, or peers, break: each arrives once and in order while its receiver lives. */
class MessagesOverEngineFaultTest {
    private static final long WAIT_MILLIS = 120_000;

    private static MessageStatistics statistics(Ignite node) {
        return Objects.requireNonNull(
                ((TransferCommunicationSpi) node.configuration().getCommunicationSpi()).messageStatistics());
    }

    private static Ignite start(TestGrid grid, String name) {
        return grid.start(name, config -> MessagesNode.configure(grid, config));
    }

    /** Sends numbers until it is told to stop; they are ordered, so that Ignite hands them on as they come. */
    private static final class Sender extends Thread {
        private final IgniteMessaging to;
        private final AtomicBoolean stopped = new AtomicBoolean();
        private volatile int sent;

        Sender(Ignite from, ClusterNode receiver) {
            this.to = from.message(from.cluster().forNode(receiver));
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            while (!stopped.get()) {
                to.sendOrdered(MessagesNode.TOPIC, MessagesNode.message(sent), 120_000);
                sent++;
                if (sent % 10 == 0) {
                    pause(1);
                }
            }
        }

        int end() throws InterruptedException {
            stopped.set(true);
            join(WAIT_MILLIS);
            assertThat(isAlive()).isFalse();
            return sent;
        }
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void await(String what, java.util.function.BooleanSupplier condition) {
        long until = System.nanoTime() + WAIT_MILLIS * 1_000_000;
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as(what).isLessThan(until);
            pause(20);
        }
    }

    @BeforeEach
    void forget() {
        MessagesNode.HEARD.clear();
    }

    @Test
    void messages_connectionsCutThenRefused_arriveOnceInOrderAndReturnToTheEngine() throws Exception {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        Random random = new Random(seed);
        try (TestGrid grid = new TestGrid();
                CuttingProxy proxy = new CuttingProxy(grid.ports() + 32)) {
            Ignite a = start(grid, "a");
            Ignite b = grid.start("b", config -> {
                MessagesNode.configure(grid, config);
                config.setAddressResolver(proxy);
            });
            MessagesNode.listen(b);
            Sender sender = new Sender(a, b.cluster().localNode());
            await("messages flow", () -> MessagesNode.HEARD.size() > 100);
            int cuts = 0;
            boolean stoodStill = false;
            long until = System.nanoTime() + 60_000_000_000L;
            for (int i = 0; i < 20 || cuts < 6 && System.nanoTime() < until; i++) {
                pause(20 + random.nextInt(200));
                long begun = System.nanoTime();
                cuts += proxy.cut() ? 1 : 0;
                int before = MessagesNode.HEARD.size();
                await("messages flow after a cut", () -> MessagesNode.HEARD.size() > before);
                stoodStill |= System.nanoTime() - begun > 2_000_000_000L;
            }
            // Less than the lane's patience; a machine that stands still itself says nothing of cuts.
            if (!stoodStill) {
                assertThat(statistics(a).takeovers())
                        .as("patience holds through cuts")
                        .isZero();
            }
            await(
                    "the lane is with the engine",
                    () -> statistics(a).returns() == statistics(a).takeovers());
            proxy.refuse(true);
            await(
                    "TCP takes over",
                    () -> statistics(a).takeovers() > statistics(a).returns());
            int heard = MessagesNode.HEARD.size();
            await("messages flow by TCP", () -> MessagesNode.HEARD.size() > heard + 100);
            proxy.refuse(false);
            await(
                    "the lane goes on",
                    () -> statistics(a).returns() == statistics(a).takeovers());
            long confirmed = statistics(a).sent();
            await("messages flow over the engine", () -> statistics(a).sent() > confirmed + 100);
            int sent = sender.end();

            await("all of them, seed " + seed, () -> MessagesNode.HEARD.size() >= sent);
            pause(200);
            assertThat(MessagesNode.HEARD).as("seed %d", seed).containsExactlyElementsOf(upTo(sent));
            assertThat(cuts).isGreaterThan(5);
            assertThat(statistics(a).repeated()).isPositive();
            assertThat(statistics(a).piecesSent()).isPositive();
        }
    }

    private static List<Integer> upTo(int count) {
        return IntStream.range(0, count).boxed().toList();
    }

    @Test
    void peer_stoppedThenContinued_hasEachMessageOnceInOrder() throws Exception {
        long stopMillis = Boolean.getBoolean("mooncake.long") ? 15_000 : 6_000;
        try (TestGrid grid = new TestGrid()) {
            Ignite a = start(grid, "a");
            Process child = MessagesNode.fork(grid, true);
            try {
                ClusterNode peer = MessagesNode.child(a);
                Sender sender = new Sender(a, peer);
                await("messages flow", () -> statistics(a).sent() > 200);
                signal("STOP", child);
                pause(stopMillis);
                signal("CONT", child);
                pause(1_000);
                int sent = sender.end();
                await("all of them", () -> heard(a, peer).length >= sent);
                assertThat(heard(a, peer))
                        .isEqualTo(
                                upTo(sent).stream().mapToInt(Integer::intValue).toArray());
                assertThat(a.cluster().nodes()).hasSize(2);
            } finally {
                child.destroyForcibly().waitFor();
            }
        }
    }

    private static int[] heard(Ignite asking, ClusterNode node) {
        return asking.compute(asking.cluster().forNode(node)).call(MessagesNode::heard);
    }

    @Test
    void peer_killed_failsWhatWaitsForItAndNobodyElse() throws Exception {
        try (TestGrid grid = new TestGrid()) {
            Ignite a = start(grid, "a");
            Ignite b = start(grid, "b");
            Process child = MessagesNode.fork(grid, true);
            try {
                ClusterNode peer = MessagesNode.child(a);
                CacheConfiguration<Integer, Integer> synchronous = TestGrid.smallCache("c");
                synchronous.setBackups(1).setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC);
                IgniteCache<Integer, Integer> cache = a.getOrCreateCache(synchronous);
                for (int i = 0; i < 200; i++) {
                    cache.put(i, i);
                }
                var job = a.compute(a.cluster().forNode(peer)).runAsync(() -> pause(120_000));
                pause(200);
                child.destroyForcibly().waitFor();
                assertThatThrownBy(() -> job.get(WAIT_MILLIS)).isInstanceOf(IgniteException.class);
                for (int i = 0; i < 200; i++) {
                    cache.put(i, i + 1);
                    assertThat(b.<Integer, Integer>cache("c").get(i)).isEqualTo(i + 1);
                }
                await("the topology", () -> a.cluster().nodes().size() == 2);
            } finally {
                child.destroyForcibly().waitFor();
            }
        }
    }

    private static void signal(String name, Process process) throws Exception {
        assertThat(new ProcessBuilder("kill", "-" + name, "" + process.pid())
                        .start()
                        .waitFor())
                .isZero();
    }
}
