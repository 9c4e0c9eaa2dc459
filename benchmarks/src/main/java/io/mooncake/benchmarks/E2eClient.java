// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks;

import io.mooncake.examples.chat.ChatAnswer;
import io.mooncake.examples.chat.ChatJob;
import io.mooncake.examples.chat.StoreJob;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cluster.NodeView;
import io.mooncake.examples.cluster.ProcessCluster;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RoutedJob;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Sends prompts to chosen nodes of a cluster, one at a time. */
final class E2eClient {
    private static final Duration TIMEOUT = Duration.ofMinutes(5);

    private final ProcessCluster cluster;
    private final int newTokens;

    E2eClient(ProcessCluster cluster, int newTokens) {
        this.cluster = cluster;
        this.newTokens = newTokens;
    }

    /** Computes and stores {@code prompt} on {@code node}. */
    void store(int node, int[] prompt) throws InterruptedException {
        submit(node, prompt, new StoreJob(ProcessCluster.MODEL));
    }

    /** Answers {@code prompt} on {@code node} with the cache, and again without it. */
    ChatAnswer compare(int node, int[] prompt) throws InterruptedException {
        return submit(node, prompt, new ChatJob(ProcessCluster.MODEL, newTokens));
    }

    /** Waits until {@code node} knows that another one holds {@code tokens} tokens of {@code prompt}. */
    void awaitKnown(int node, int[] prompt, int tokens) throws InterruptedException {
        NodeView view = cluster.view(cluster.nodes().get(node));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (view.known(ProcessCluster.MODEL, prompt).bestTokens() < tokens) {
            if (System.nanoTime() > deadline) {
                throw new Refusal(cluster.nodes().get(node).name()
                        + " has not heard of the other node's prefix for 10 s (expected: within milliseconds)");
            }
            Thread.sleep(5);
        }
    }

    private <R> R submit(int node, int[] prompt, RoutedJob<R> job) throws InterruptedException {
        Route route = Route.of(ProcessCluster.MODEL, prompt)
                .onNode(cluster.nodes().get(node).id())
                .timeout(TIMEOUT);
        try {
            return cluster.mooncake()
                    .submit(route, job)
                    .toCompletableFuture()
                    .get(TIMEOUT.toSeconds() + 30, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new Refusal(cluster.nodes().get(node).name() + " failed: " + cause, cause);
        } catch (TimeoutException e) {
            throw new Refusal(cluster.nodes().get(node).name() + " did not answer within " + TIMEOUT, e);
        }
    }
}
