// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RouteDecision;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.node.NodeEngines;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.RemovalCause;
import io.mooncake.memory.Tenant;
import java.io.IOException;
import java.io.Serializable;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterRouterTest {
    private static final String POOL = "tiny";
    private static final int VOCABULARY = 1 << 20;
    /** Latches that jobs wait for, by the test's name; jobs run in this JVM but are serialised on their way. */
    private static final ConcurrentHashMap<String, CountDownLatch> GATES = new ConcurrentHashMap<>();

    private static TestGrid grid;
    private static Ignite first;
    private static Ignite second;
    private static Ignite client;

    @BeforeAll
    static void start() {
        grid = new TestGrid();
        first = grid.start("first", provider());
        second = grid.start("second", provider());
        client = grid.start("client", config -> config.setClientMode(true)
                .setPluginProviders(provider().setDram(null).setPools(List.of()).setRole(Role.OBSERVER)));
    }

    /** The grid's, whose pool has a vocabulary. */
    private static MooncakePluginProvider provider() {
        return grid.provider().setPools(List.of(TestGrid.pool(POOL).setVocabulary(VOCABULARY)));
    }

    @AfterAll
    static void stop() {
        grid.close();
    }

    @Test
    @Order(1) // before the nodes have learned from the other tests' waiting jobs
    void submit_holderIsIdle_runsThereWhoeverAsks() {
        int[] tokens = Blocks.prompt(1, 1, 4, 6);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        for (Ignite router : new Ignite[] {first, second, client}) {
            awaitMatch(router, tokens, 96);

            RouteDecision ran = join(Mooncake.of(router).submit(Route.of(POOL, tokens), context -> {
                assertThat(context.pool().name()).isEqualTo(POOL);
                assertThat(context.ignite().cluster().localNode().id())
                        .isEqualTo(context.decision().nodeId());
                return context.decision();
            }));

            assertThat(ran.nodeId()).isEqualTo(id(first));
            assertThat(ran.localTokens()).isEqualTo(96);
            assertThat(ran.bestTokens()).isEqualTo(96);
            assertThat(ran.promptTokens()).isEqualTo(97);
            assertThat(ran.forced()).isFalse();
        }
    }

    @Test
    void submit_forcedNode_runsThere() {
        int[] tokens = Blocks.prompt(2, 1, 4, 6);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);

        UUID ran = join(Mooncake.of(client)
                .submit(
                        Route.of(POOL, tokens).onNode(id(second)),
                        context -> context.ignite().cluster().localNode().id()));

        assertThat(ran).isEqualTo(id(second));
    }

    @Test
    void submit_nullResult_isAResult() {
        Object answer = join(Mooncake.of(client).submit(Route.of(POOL, new int[] {1}), context -> null));

        assertThat(answer).isNull();
    }

    @Test
    void submit_resultCannotTravel_callerIsTold() {
        CompletionStage<Optional<String>> answer = Mooncake.of(client)
                .submit(Route.of(POOL, new int[] {1}).onNode(id(second)), context -> Optional.of("rock"));

        assertThatThrownBy(() -> join(answer))
                .cause()
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("expected: serialisable");
    }

    @Test
    void submit_jobThrows_callerGetsItsException() {
        for (Ignite router : new Ignite[] {first, client}) {
            CompletionStage<Object> answer = Mooncake.of(router)
                    .submit(Route.of(POOL, new int[] {1}).onNode(id(second)), context -> {
                        throw new IOException("the job's own");
                    });

            assertThatThrownBy(() -> join(answer))
                    .cause()
                    .isInstanceOf(IOException.class)
                    .hasMessage("the job's own");
        }
    }

    @Test
    void submit_jobOverflowsItsStack_failsTheJobAndNotTheNode() {
        CompletionStage<Object> answer = Mooncake.of(client)
                .submit(Route.of(POOL, new int[] {1}).onNode(id(second)), context -> {
                    throw new StackOverflowError("a job's recursion");
                });

        assertThatThrownBy(() -> join(answer)).hasStackTraceContaining("a job's recursion");
        UUID ran = join(Mooncake.of(client)
                .submit(
                        Route.of(POOL, new int[] {1}).onNode(id(second)),
                        context -> context.ignite().cluster().localNode().id()));
        assertThat(ran).isEqualTo(id(second));
    }

    @Test
    void submit_jobThrowsWhatCannotTravel_callerGetsItsText() {
        CompletionStage<Object> answer = Mooncake.of(client)
                .submit(Route.of(POOL, new int[] {1}).onNode(id(second)), context -> {
                    throw new Stuck();
                });

        assertThatThrownBy(() -> join(answer))
                .cause()
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("stuck to its node");
    }

    @Test
    void submit_jobIsTooSlow_deadlineExceeded() {
        GATES.put("slow", new CountDownLatch(1));
        try {
            CompletionStage<Integer> answer = Mooncake.of(client)
                    .submit(Route.of(POOL, new int[] {1}).timeout(Duration.ofMillis(300)), waitFor("slow"));

            // The job goes on for as long as its gate is shut: who gets an answer did not wait for it.
            assertCode(answer, MooncakeException.Code.DEADLINE_EXCEEDED);
        } finally {
            GATES.get("slow").countDown();
        }
    }

    @Test
    void submit_unknownPoolOrNodeOrBadToken_isRefused() {
        Mooncake mooncake = Mooncake.of(client);
        assertCode(mooncake.submit(Route.of("huge", new int[] {1}), context -> 1), MooncakeException.Code.NOT_FOUND);
        assertCode(
                mooncake.submit(Route.of(POOL, new int[] {1}).onNode(UUID.randomUUID()), context -> 1),
                MooncakeException.Code.NOT_FOUND);
        assertThatThrownBy(() -> join(mooncake.submit(Route.of(POOL, new int[] {1, -1}), context -> 1)))
                .cause()
                .hasMessageContaining("tokens[1]: -1");
    }

    @Test
    void tokens_overTheVocabulary_areRefusedByEveryNode() {
        int[] tokens = {1, VOCABULARY};
        String message = "tokens[1]: " + VOCABULARY + " (expected: 0.." + (VOCABULARY - 1) + ")";
        // Who has no pool knows it when it has heard what the cluster remembers.
        TestGrid.await("the client knows the vocabulary", () -> {
            try {
                Mooncake.of(client).explain(POOL, tokens);
                return false;
            } catch (MooncakeException e) {
                return message.equals(e.getMessage());
            }
        });
        for (Ignite node : List.of(first, second, client)) {
            Mooncake mooncake = Mooncake.of(node);
            assertThatThrownBy(() -> mooncake.explain(POOL, tokens)).hasMessage(message);
            assertThatThrownBy(() -> mooncake.decide(Route.of(POOL, tokens))).hasMessage(message);
            assertThatThrownBy(() -> join(mooncake.submit(Route.of(POOL, tokens), context -> 1)))
                    .cause()
                    .hasMessage(message);
        }
        assertThat(Mooncake.of(client)
                        .explain(POOL, new int[] {1, VOCABULARY - 1})
                        .promptTokens())
                .isEqualTo(2);
    }

    @Test
    void decide_anotherRouterSentWork_isSeen() {
        GATES.put("seen", new CountDownLatch(1));
        int[] tokens = Blocks.prompt(4, 1, 0, 4);
        CompletionStage<?> answer =
                Mooncake.of(client).submit(Route.of(POOL, tokens).onNode(id(second)), waitFor("seen"));
        try {
            TestGrid.await(
                    "the other router sees the load",
                    () -> Mooncake.of(first)
                                    .decide(Route.of(POOL, tokens).onNode(id(second)))
                                    .inFlight()
                            == 1);
        } finally {
            GATES.get("seen").countDown();
        }
        join(answer);
        TestGrid.await(
                "the load is gone",
                () -> Mooncake.of(first)
                                .decide(Route.of(POOL, tokens).onNode(id(second)))
                                .inFlight()
                        == 0);
    }

    @Test
    void explain_sharedPrefix_namesHoldersAndReason() {
        int[] tokens = Blocks.prompt(5, 1, 4, 6);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        int[] other = Blocks.prompt(5, 2, 4, 6);
        awaitMatch(second, other, 64);

        Explanation seen = Mooncake.of(second).explain(POOL, other);

        assertThat(seen.promptTokens()).isEqualTo(97);
        assertThat(seen.reusableTokens()).isEqualTo(96);
        assertThat(seen.missReason()).isEqualTo(MissReason.NOT_CACHED);
        assertThat(seen.matches()).containsExactly(new Explanation.Match(id(first), 64, false));
        assertThat(seen.pieces()).singleElement().satisfies(piece -> {
            assertThat(piece.fromToken()).isZero();
            assertThat(piece.toToken()).isEqualTo(64);
            assertThat(piece.nodeId()).isEqualTo(id(first));
            assertThat(piece.tier()).isEqualTo("DRAM");
            assertThat(piece.way()).isIn("SHARED_MEMORY", "TCP");
        });
        assertThat(seen.gaps()).containsExactly(new Explanation.Gap(64, 96, MissReason.NOT_CACHED));
        assertThat(Mooncake.of(first).explain(POOL, tokens))
                .isEqualTo(new Explanation(
                        97,
                        96,
                        List.of(new Explanation.Match(id(first), 96, true)),
                        List.of(new Explanation.Piece(0, 96, id(first), "DRAM", "LOCAL")),
                        List.of(),
                        MissReason.NONE));
    }

    @Test
    void explain_ownBeginning_otherNodesPieceFollows() {
        int[] tokens = Blocks.prompt(15, 1, 4, 6);
        // The second node has the first four blocks itself; the rest lies at the first.
        Blocks.store(Mooncake.of(second).pool(POOL), Arrays.copyOf(tokens, 65));
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        awaitMatch(second, tokens, 96);

        Explanation seen = Mooncake.of(second).explain(POOL, tokens);

        assertThat(seen.gaps()).isEmpty();
        assertThat(seen.missReason()).isEqualTo(MissReason.NONE);
        assertThat(seen.pieces()).hasSize(2);
        assertThat(seen.pieces().get(0)).isEqualTo(new Explanation.Piece(0, 64, id(second), "DRAM", "LOCAL"));
        assertThat(seen.pieces().get(1).fromToken()).isEqualTo(64);
        assertThat(seen.pieces().get(1).toToken()).isEqualTo(96);
        assertThat(seen.pieces().get(1).nodeId()).isEqualTo(id(first));
    }

    @Test
    void explain_ownBlocksRemoved_saysSo() {
        int[] tokens = Blocks.prompt(17, 1, 4, 6);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        LocalKvPool pool = NodeEngines.pool(first, POOL);
        pool.remove(pool.chain(Tenant.DEFAULT, tokens).get(2), RemovalCause.REMOVED);

        Explanation seen = Mooncake.of(first).explain(POOL, tokens);

        assertThat(seen.pieces()).containsExactly(new Explanation.Piece(0, 32, id(first), "DRAM", "LOCAL"));
        assertThat(seen.gaps()).containsExactly(new Explanation.Gap(32, 96, MissReason.REMOVED));
    }

    @Test
    void explain_holderLeft_saysThatItsNodeWasLost() {
        int[] tokens = Blocks.prompt(16, 1, 4, 6);
        Ignite leaving = grid.start("leaving");
        Blocks.store(Mooncake.of(leaving).pool(POOL), tokens);
        TestGrid.await(
                "index knows the prefix",
                () -> !Mooncake.of(second).explain(POOL, tokens).pieces().isEmpty());
        Ignition.stop(leaving.name(), true);

        // Blocks that nobody ever had follow.
        int[] longer = Blocks.prompt(16, 1, 4, 8);
        TestGrid.await("the loss is known", () -> Mooncake.of(second)
                .explain(POOL, longer)
                .gaps()
                .equals(List.of(
                        new Explanation.Gap(0, 96, MissReason.NODE_LOST),
                        new Explanation.Gap(96, 128, MissReason.NOT_CACHED))));
        assertThat(Mooncake.of(second).explain(POOL, longer).missReason()).isEqualTo(MissReason.NODE_LOST);
    }

    @Test
    void submit_nodeStopsMeanwhile_peerUnreachable() {
        // Ignite interrupts the jobs of a node that stops after as long as it takes a node for dead.
        Ignite third = grid.start(
                "third", config -> config.setPluginProviders(provider()).setFailureDetectionTimeout(3_000));
        GATES.put("stop", new CountDownLatch(1));
        TestGrid.await(
                "the client knows the third node",
                () -> Mooncake.of(client).storeNodes().contains(id(third)));
        CompletionStage<?> answer =
                Mooncake.of(client).submit(Route.of(POOL, new int[] {1}).onNode(id(third)), waitFor("stop"));
        TestGrid.await("the job runs", () -> GATES.containsKey("stop-running"));

        Ignition.stop(third.name(), true);

        assertCode(answer, MooncakeException.Code.PEER_UNREACHABLE);
        assertThat(Mooncake.of(client).decide(Route.of(POOL, new int[] {1})).nodeId())
                .isIn(id(first), id(second));
    }

    @Test
    void submit_ownNodeStopsMeanwhile_peerUnreachable() {
        Ignite router = grid.start("router", config -> config.setClientMode(true)
                .setPluginProviders(provider().setDram(null).setPools(List.of())));
        GATES.put("own-stop", new CountDownLatch(1));
        Mooncake mooncake = Mooncake.of(router);
        TestGrid.await("the pool is known", () -> mooncake.storeNodes().contains(id(first)));
        CompletionStage<?> answer =
                mooncake.submit(Route.of(POOL, new int[] {1}).onNode(id(first)), waitFor("own-stop"));
        TestGrid.await("the job runs", () -> GATES.containsKey("own-stop-running"));

        Ignition.stop(router.name(), true);

        try {
            assertCode(answer, MooncakeException.Code.PEER_UNREACHABLE);
            assertCode(
                    mooncake.submit(Route.of(POOL, new int[] {1}), context -> 1),
                    MooncakeException.Code.PEER_UNREACHABLE);
        } finally {
            GATES.get("own-stop").countDown();
        }
    }

    private static RoutedJob<Integer> waitFor(String gate) {
        return context -> {
            GATES.put(gate + "-running", new CountDownLatch(0));
            GATES.get(gate).await(120, TimeUnit.SECONDS);
            return 1;
        };
    }

    private static void awaitMatch(Ignite router, int[] tokens, int expected) {
        TestGrid.await("index knows the prefix", () -> {
            var matches = Mooncake.of(router).explain(POOL, tokens).matches();
            return !matches.isEmpty() && matches.get(0).tokens() >= expected;
        });
        TestGrid.await(
                "the router knows that earlier requests ended",
                () -> Mooncake.of(router)
                                .decide(Route.of(POOL, tokens).onNode(id(first)))
                                .inFlight()
                        == 0);
    }

    private static void assertCode(CompletionStage<?> answer, MooncakeException.Code code) {
        assertThatThrownBy(() -> join(answer))
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(code));
    }

    private static <T> T join(CompletionStage<T> stage) {
        return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
    }

    private static UUID id(Ignite node) {
        return node.cluster().localNode().id();
    }

    /** An exception that cannot be serialised. */
    private static final class Stuck extends RuntimeException implements Serializable {
        private static final long serialVersionUID = 1L;

        @SuppressWarnings({"unused", "serial"}) // what makes it stuck
        private final Optional<String> anchor = Optional.of("rock");

        Stuck() {
            super("stuck to its node");
        }
    }
}
