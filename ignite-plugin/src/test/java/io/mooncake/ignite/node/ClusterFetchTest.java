// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestBlocks.Taken;
import io.mooncake.ignite.TestGrid;
import io.mooncake.natives.NativeBridge;
import io.mooncake.transfer.PathReport;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes of one cluster take each other's blocks. */
class ClusterFetchTest {
    private static NodeRuntime runtime(Ignite ignite) {
        return ((MooncakeNode) Mooncake.of(ignite)).runtime();
    }

    private static void awaitIndexed(Ignite ignite, int[] tokens, int expectedTokens) {
        TestGrid.await(
                "index of " + ignite.name() + " knows " + expectedTokens + " tokens",
                () -> runtime(ignite).index().holders("tiny", io.mooncake.memory.Tenant.DEFAULT, tokens).stream()
                        .anyMatch(holding -> holding.tokens() == expectedTokens));
    }

    @Test
    void acquire_threeNodes_fetchFromEachOther() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            Ignite second = grid.start("b");
            int[] tokens = TestBlocks.prompt(1, 200);
            assertThat(TestBlocks.store(Mooncake.of(first).pool("tiny"), tokens))
                    .isEqualTo(12);

            awaitIndexed(second, tokens, 192);
            Taken taken = TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens);
            assertThat(taken).isEqualTo(new Taken(192, 0, 192, "NONE"));
            long bytes = 12L * Mooncake.of(first).pool("tiny").layout().payloadBytes();
            // The owner hears of copies out of shared memory when the lease is released.
            TestGrid.await(
                    "bytes are counted", () -> Mooncake.of(first).statistics().bytesServed() == bytes);
            assertThat(Mooncake.of(second).statistics().bytesFetched()).isEqualTo(bytes);
            assertThat(Mooncake.of(second).statistics().remoteHitTokens()).isEqualTo(192);

            // A second look-up is local, and what was fetched has become a copy that others find.
            assertThat(TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens))
                    .isEqualTo(new Taken(192, 192, 0, "NONE"));
            Ignite third = grid.start("c");
            awaitIndexed(third, tokens, 192);
            TestGrid.await(
                    "both holders are known",
                    () -> runtime(third)
                                    .index()
                                    .holders("tiny", io.mooncake.memory.Tenant.DEFAULT, tokens)
                                    .size()
                            == 2);

            // The new node arrived after the events: it knows them by snapshot.
            Ignition.stop(first.name(), true);
            assertThat(TestBlocks.take(Mooncake.of(third).pool("tiny"), tokens))
                    .isEqualTo(new Taken(192, 0, 192, "NONE"));
        }
    }

    @Test
    void acquire_localPrefixAndRemoteRest_isOneLease() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            Ignite second = grid.start("b");
            int[] tokens = TestBlocks.prompt(2, 161);
            int[] head = java.util.Arrays.copyOf(tokens, 64);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), tokens);
            TestBlocks.store(Mooncake.of(second).pool("tiny"), head);
            awaitIndexed(second, tokens, 160);
            assertThat(TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens))
                    .isEqualTo(new Taken(160, 64, 96, "NONE"));
        }
    }

    @Test
    void acquire_nobodyHasTheRest_saysSo() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            Ignite second = grid.start("b");
            int[] tokens = TestBlocks.prompt(8, 161);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), java.util.Arrays.copyOf(tokens, 64));
            awaitIndexed(second, tokens, 64);
            assertThat(TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens))
                    .isEqualTo(new Taken(64, 0, 64, "NOT_CACHED"));
            assertThat(Mooncake.of(second).statistics().misses()).containsEntry("NOT_CACHED", 1L);
        }
    }

    @Test
    void acquire_manyAtOnce_fetchOnce() throws Exception {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            Ignite second = grid.start("b");
            int[] tokens = TestBlocks.prompt(3, 321);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), tokens);
            awaitIndexed(second, tokens, 320);
            ExecutorService threads = Executors.newFixedThreadPool(8);
            try {
                List<Callable<Taken>> calls = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    calls.add(() -> TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens));
                }
                for (Future<Taken> taken : threads.invokeAll(calls)) {
                    assertThat(taken.get().matched()).isEqualTo(320);
                }
            } finally {
                threads.shutdownNow();
            }
            long bytes = 20L * Mooncake.of(first).pool("tiny").layout().payloadBytes();
            TestGrid.await(
                    "bytes are counted once",
                    () -> Mooncake.of(first).statistics().bytesServed() == bytes);
        }
    }

    @Test
    void acquire_ownerEngineDies_isMissWithReasonAndEntriesGo() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            // The fetch may take all of its time.
            Ignite second = grid.start("b", grid.provider().setFetchTimeoutMillis(2_000));
            int[] tokens = TestBlocks.prompt(4, 200);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), tokens);
            awaitIndexed(second, tokens, 192);

            runtime(first).engine().close();
            Taken taken = TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens);
            assertThat(taken.matched()).isZero();
            assertThat(taken.reason()).isIn("PEER_UNREACHABLE", "DEADLINE");
            assertThat(Mooncake.of(second).statistics().misses()).containsKey(taken.reason());

            Ignition.stop(first.name(), true);
            TestGrid.await("entries are gone", () -> runtime(second).index().entries() == 0);
            assertThat(TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens).reason())
                    .isEqualTo("NOT_CACHED");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void sharedMemory_asConfigured_isTheWayOfFetches(boolean shared) {
        assumeTrue(NativeBridge.available(), "native bridge");
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a", grid.provider().setSharedMemory(shared));
            Ignite second = grid.start("b");
            PathReport report =
                    runtime(second).engine().path(runtime(first).engine().address(), Deadline.ofMillis(10_000));
            assertThat(report.reads()).isEqualTo(shared ? PathReport.Kind.SHARED_MEMORY : PathReport.Kind.TCP);
            int[] tokens = TestBlocks.prompt(21, 200);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), tokens);
            awaitIndexed(second, tokens, 192);
            assertThat(TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens).remote())
                    .isEqualTo(192);
            long served = runtime(first).engine().statistics().requestsServed();
            assertThat(served > 0).as("TCP requests: %d", served).isEqualTo(!shared);
        }
    }

    @Test
    void acquire_ownerEvicts_entriesGo() {
        try (TestGrid grid = new TestGrid()) {
            // By this policy the last prompt stays, however slowly the others came.
            Ignite first = grid.start("a", grid.provider().setDram("256KiB").setEvictionPolicy("lru"));
            Ignite second = grid.start("b");
            int[] kept = new int[0];
            for (int seed = 0; seed < 12; seed++) {
                kept = TestBlocks.prompt(100 + seed, 200);
                TestBlocks.store(Mooncake.of(first).pool("tiny"), kept);
            }
            long held = Mooncake.of(first).statistics().blocks();
            assertThat(Mooncake.of(first).statistics().evictions()).isPositive();
            TestGrid.await(
                    "index has what is held", () -> runtime(second).index().entries() == held);
            int[] last = kept;
            awaitIndexed(second, last, 192);
            assertThat(TestBlocks.take(Mooncake.of(second).pool("tiny"), last).matched())
                    .isEqualTo(192);
        }
    }

    @Test
    void roles_computeAndObserver_announceNothing() {
        try (TestGrid grid = new TestGrid()) {
            Ignite store = grid.start("a");
            Ignite compute = grid.start("b", grid.provider().setRole(Role.COMPUTE));
            Ignite client = grid.start("c", config -> config.setClientMode(true)
                    .setPluginProviders(grid.provider().setDram(null).setPools(List.of())));
            int[] tokens = TestBlocks.prompt(5, 100);
            TestBlocks.store(Mooncake.of(compute).pool("tiny"), tokens);
            int[] others = TestBlocks.prompt(6, 100);
            TestBlocks.store(Mooncake.of(store).pool("tiny"), others);

            awaitIndexed(client, others, 96);
            awaitIndexed(compute, others, 96);
            assertThat(runtime(store).index().entries()).isZero();
            assertThat(Mooncake.of(client).role()).isEqualTo(Role.OBSERVER);
            assertThat(Mooncake.of(client).pools()).isEmpty();
            assertThat(Mooncake.of(client).storeNodes())
                    .containsExactlyInAnyOrder(
                            store.cluster().localNode().id(),
                            compute.cluster().localNode().id());
            assertThat(TestBlocks.take(Mooncake.of(compute).pool("tiny"), others)
                            .remote())
                    .isEqualTo(96);
            assertThatThrownBy(() -> Mooncake.of(client).pool("tiny"))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("pool: tiny");
        }
    }
}
