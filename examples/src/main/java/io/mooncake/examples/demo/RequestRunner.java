// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.djl.Generation;
import io.mooncake.examples.chat.ChatAnswer;
import io.mooncake.examples.chat.ChatJob;
import io.mooncake.examples.cluster.NodeProcess;
import io.mooncake.examples.cluster.NodeView;
import io.mooncake.examples.cluster.ProcessCluster;
import io.mooncake.ignite.Route;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.ignite.IgniteException;
import org.jspecify.annotations.Nullable;

/**
 * Sends one request after another and says what became of each. A failed request is a row with a reason, never an exception.
 *
 * <p>Threading: safe for several threads that send requests of different conversations.
 */
final class RequestRunner {
    private static final Duration TIMEOUT = Duration.ofMinutes(3);
    private static final Duration INDEX_TIMEOUT = Duration.ofSeconds(10);
    private static final Duration COUNT_TIMEOUT = Duration.ofSeconds(20);

    private final ProcessCluster cluster;
    private final Conversations conversations;
    private final int newTokens;
    private volatile @Nullable NodeProcess killed;

    RequestRunner(ProcessCluster cluster, Conversations conversations, int newTokens) {
        this.cluster = cluster;
        this.conversations = conversations;
        this.newTokens = newTokens;
    }

    /** {@code node} is about to die: a request that it is running then is lost, not failed. */
    void killed(NodeProcess node) {
        killed = node;
    }

    /** Sends {@code request} where the conductor wants it; a moved one goes to the node that holds least of its prompt. */
    RequestRow run(Plan.Request request) {
        int[] prompt = conversations.prompt(request);
        boolean moved = request.kind() == Plan.Kind.MOVED;
        NodeProcess target = null;
        try {
            target = moved ? nodeThatLacks(prompt) : null;
            return send(request, prompt, target, moved);
        } catch (IgniteException e) {
            return failed(request, moved, target, prompt.length, e);
        }
    }

    /** Sends {@code request} to {@code target}, whatever it holds. */
    RequestRow runOn(Plan.Request request, NodeProcess target) {
        return send(request, conversations.prompt(request), target, false);
    }

    private RequestRow send(Plan.Request request, int[] prompt, @Nullable NodeProcess target, boolean moved) {
        NodeProcess dead = killed;
        long servedBefore = moved ? served() : 0;
        try {
            ChatAnswer answer;
            try {
                answer = submit(request, prompt, target);
            } catch (ExecutionException e) {
                // The cluster takes a moment to notice a death: who is sent to the dead meanwhile was not running
                // there, and is sent again.
                if (dead == null || target != null || !blames(dead, reason(e))) {
                    throw e;
                }
                answer = submit(request, prompt, null);
            }
            conversations.answered(request, answer);
            long served = moved
                    ? servedSince(servedBefore, answer.cached().remoteTokens() * conversations.bytesPerToken())
                    : 0;
            return row(request, moved, answer, served);
        } catch (ExecutionException | TimeoutException | RuntimeException e) {
            return failed(request, moved, target, prompt.length, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return failed(request, moved, target, prompt.length, e);
        }
    }

    private ChatAnswer submit(Plan.Request request, int[] prompt, @Nullable NodeProcess target)
            throws ExecutionException, TimeoutException, InterruptedException {
        Route route = Route.of(ProcessCluster.MODEL, prompt)
                .session(request.conversation())
                .timeout(TIMEOUT);
        return cluster.mooncake()
                .submit(
                        target == null ? route : route.onNode(target.id()),
                        new ChatJob(ProcessCluster.MODEL, newTokens))
                .toCompletableFuture()
                .get(TIMEOUT.toSeconds() + 30, TimeUnit.SECONDS);
    }

    private static boolean blames(NodeProcess node, String reason) {
        return reason.contains(node.id().toString());
    }

    private static String reason(Throwable error) {
        Throwable told = error;
        while ((told instanceof ExecutionException || told instanceof CompletionException) && told.getCause() != null) {
            told = told.getCause();
        }
        return told.getMessage() == null ? told.toString() : told.getMessage();
    }

    /** The running node that holds least of {@code prompt}, once it knows that another node holds more. */
    private NodeProcess nodeThatLacks(int[] prompt) {
        List<NodeProcess> alive = cluster.alive();
        NodeProcess least = alive.stream()
                .min(Comparator.comparingInt(node ->
                        cluster.view(node).known(ProcessCluster.MODEL, prompt).localTokens()))
                .orElseThrow();
        // Owners announce at once, but nobody promises that the news is here before the next request.
        long deadline = System.nanoTime() + INDEX_TIMEOUT.toNanos();
        while (System.nanoTime() < deadline) {
            NodeView.Known known = cluster.view(least).known(ProcessCluster.MODEL, prompt);
            if (known.bestTokens() > known.localTokens()) {
                break;
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                break;
            }
        }
        return least;
    }

    /** An owner counts copies out of shared memory when the reader releases its lease, which may be a moment after the answer. */
    private long servedSince(long before, long expected) throws InterruptedException {
        long until = System.nanoTime() + COUNT_TIMEOUT.toNanos();
        long served = served() - before;
        while (served < expected && System.nanoTime() - until < 0) {
            Thread.sleep(20);
            served = served() - before;
        }
        return served;
    }

    /** Bytes that all running nodes served to peers since their start. */
    private long served() {
        return cluster.alive().stream()
                .mapToLong(node -> cluster.view(node).figures().bytesServed())
                .sum();
    }

    private RequestRow row(Plan.Request request, boolean moved, ChatAnswer answer, long served) {
        Generation cached = answer.cached();
        return new RequestRow(
                request.index(),
                request.desk().name(),
                request.conversation(),
                request.turn(),
                moved,
                cluster.nameOf(answer.nodeId()),
                cached.promptTokens(),
                cached.localTokens(),
                answer.ssdTokens(),
                cached.remoteTokens(),
                cached.missReason().name(),
                ChatAnswer.firstTokenMillis(cached),
                ChatAnswer.firstTokenMillis(answer.computed()),
                answer.computed().decodeTokensPerSecond(),
                answer.logitsEqual(),
                answer.tokensEqual(),
                served,
                request.question(),
                answer.text(),
                null,
                false);
    }

    private RequestRow failed(
            Plan.Request request, boolean moved, @Nullable NodeProcess target, int promptTokens, Throwable error) {
        NodeProcess dead = killed;
        String reason = error.getMessage() == null ? error.toString() : error.getMessage();
        boolean lost =
                dead != null && (target == dead || reason.contains(dead.id().toString()));
        return new RequestRow(
                request.index(),
                request.desk().name(),
                request.conversation(),
                request.turn(),
                moved,
                target == null ? "?" : target.name(),
                promptTokens,
                0,
                0,
                0,
                "",
                0,
                0,
                0,
                false,
                false,
                0,
                request.question(),
                "",
                reason,
                lost);
    }
}
