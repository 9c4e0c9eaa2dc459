// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.examples.chat.StoreJob;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cluster.NodeProcess;
import io.mooncake.examples.cluster.NodeView;
import io.mooncake.examples.cluster.ProcessCluster;
import io.mooncake.ignite.Route;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.ignite.IgniteException;

/**
 * The demo's last part: a node goes and comes back, and answers from what its SSD kept. A desk of its own has its guests here: the first one
 * is heard at the start, by this node alone; the second one comes when the node is back, with an empty memory.
 *
 * <p>What fails is told in the row, never thrown. Threading: {@link #store} by any thread, and then {@link #run} by one, once.
 */
final class Restart {
    static final Plan.Desk DESK =
            new Plan.Desk("depot", "behind the freight depot, where the winter bicycles are kept");

    private static final Duration TIMEOUT = Duration.ofMinutes(3);

    /** What the node has on its SSD is announced as it is found. */
    private static final Duration FOUND_TIMEOUT = Duration.ofSeconds(10);

    private final ProcessCluster cluster;
    private final Conversations conversations;
    private final RequestRunner runner;
    private final NodeProcess node;
    private volatile int[] stored = {};
    private volatile String storeFailure = "";
    private volatile long ssdBlocksBefore;

    Restart(ProcessCluster cluster, Conversations conversations, RequestRunner runner, NodeProcess node) {
        this.cluster = cluster;
        this.conversations = conversations;
        this.runner = runner;
        this.node = node;
    }

    private static Plan.Request request(int index, int guest) {
        List<String> questions = Handbook.lines("questions.txt");
        return new Plan.Request(
                index, DESK, DESK.name() + "-" + guest, 1, Plan.Kind.FREE, questions.get(guest % questions.size()));
    }

    /** The first guest: the node computes the desk's handbook and keeps it. */
    void store() throws InterruptedException {
        stored = conversations.prompt(request(0, 1));
        Route route = Route.of(ProcessCluster.MODEL, stored).timeout(TIMEOUT).onNode(node.id());
        try {
            cluster.mooncake()
                    .submit(route, new StoreJob(ProcessCluster.MODEL))
                    .toCompletableFuture()
                    .get(TIMEOUT.toSeconds() + 30, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException | RuntimeException e) {
            storeFailure = "the first guest of the desk " + DESK.name() + " got no answer: " + e.getMessage();
        }
    }

    /** Before the node goes: what its SSD has. */
    void remember() {
        ssdBlocksBefore = cluster.view(node).figures().ssdBlocks();
    }

    /** Stops the node unless it was killed, starts it again, and sends it the second guest as request {@code index}. */
    RestartRow run(int index) throws InterruptedException {
        boolean killed = !node.alive();
        if (!storeFailure.isEmpty()) {
            return RestartRow.failed(node.name(), killed, storeFailure);
        }
        try {
            long start = System.nanoTime();
            if (!killed) {
                remember();
                node.close();
            }
            long stopped = System.nanoTime();
            NodeProcess again = cluster.restart(node);
            long ready = System.nanoTime();
            return ask(request(index, 2), again, killed, killed ? 0 : (stopped - start) / 1e9, (ready - stopped) / 1e9);
        } catch (IOException | IgniteException | Refusal e) {
            return RestartRow.failed(node.name(), killed, String.valueOf(e.getMessage()));
        }
    }

    private RestartRow ask(
            Plan.Request request, NodeProcess again, boolean killed, double stopSeconds, double startSeconds)
            throws InterruptedException {
        NodeView view = cluster.view(again);
        NodeView.Figures found = awaitFound(view);
        int others = othersTokens(again);
        RequestRow row = runner.runOn(request, again);
        return new RestartRow(
                again.name(),
                killed,
                stopSeconds,
                startSeconds,
                ssdBlocksBefore,
                found.ssdBlocks(),
                found.blocks(),
                others,
                view.figures().ssdLoads() - found.ssdLoads(),
                row.ssdTokens(),
                row.computedMillis() - row.cachedMillis(),
                row,
                null);
    }

    /** The node's figures, once it has found what the handbook needs and as much as it had, or has had its time. */
    private NodeView.Figures awaitFound(NodeView view) throws InterruptedException {
        long deadline = System.nanoTime() + FOUND_TIMEOUT.toNanos();
        NodeView.Figures found = view.figures();
        while (found.ssdBlocks() < ssdBlocksBefore && System.nanoTime() - deadline < 0) {
            Thread.sleep(50);
            found = view.figures();
        }
        return found;
    }

    /** Most tokens of the desk's prompt that any node but {@code again} has, as each says of itself. */
    private int othersTokens(NodeProcess again) {
        return cluster.alive().stream()
                .filter(other -> other != again)
                .mapToInt(other ->
                        cluster.view(other).known(ProcessCluster.MODEL, stored).localTokens())
                .max()
                .orElse(0);
    }
}
