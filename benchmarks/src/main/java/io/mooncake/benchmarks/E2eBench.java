// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks;

import io.mooncake.djl.Generation;
import io.mooncake.djl.ReuseAudit;
import io.mooncake.examples.chat.ChatAnswer;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.cluster.ClusterOptions;
import io.mooncake.examples.cluster.ProcessCluster;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * How much sooner the first token comes when a prefix of 1,024 tokens is cached, here or on another node, than when it is computed.
 *
 * <p>Two nodes in processes of their own, one thread each. Every run takes a fresh prompt: it is stored on one node, answered again there
 * (prefix in own memory), and answered on the other node (prefix fetched); each of these answers is followed at once by the same one
 * computed without the cache on the same node, so that value and reference are measured in turns. A second pair of nodes does the same in
 * fast mode with prompts that share a part of a block.
 */
final class E2eBench implements Bench {
    private static final int DEFAULT_RUNS = 10;
    private static final int NODES = 2;
    private static final int PREFIX_TOKENS = 1_024;
    private static final int SUFFIX_TOKENS = 32;
    private static final int NEW_TOKENS = 16;
    /** Whole blocks, stored in fast mode. */
    private static final int STORED_TOKENS = 320;
    /** What prompts share with them there: it ends inside a block. */
    private static final int PARTIAL_TOKENS = 217;

    @Override
    public String name() {
        return "e2e";
    }

    @Override
    public String question() {
        return "time to first token with a cached prefix against computing it, on real nodes with the real model";
    }

    @Override
    public boolean needsModel() {
        return true;
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) throws IOException, InterruptedException {
        Settings settings = asked.runs() > 0 ? asked : asked.withRuns(DEFAULT_RUNS);
        Exact exact = exact(settings, terminal);
        Fast fast = fast(settings, terminal);
        List<BenchmarkResult> results = new ArrayList<>(exact.results());
        results.addAll(fast.results());
        return BenchmarkReport.here(
                name(),
                Home.root(),
                results,
                Map.of(
                        "settings",
                        Map.of(
                                "model", settings.model().getFileName().toString(),
                                "nodes", NODES,
                                "threads", 1,
                                "prefixTokens", PREFIX_TOKENS,
                                "suffixTokens", SUFFIX_TOKENS,
                                "newTokens", NEW_TOKENS),
                        "fastModeGaps",
                        fast.gaps()));
    }

    private static ClusterOptions options(Settings settings, String mode) {
        return new ClusterOptions(
                settings.model(), NODES, 1, "1GiB", null, "768m", mode, Home.folder("target/bench/logs"), 180_000);
    }

    private static Exact exact(Settings settings, Terminal terminal) throws IOException, InterruptedException {
        ClusterOptions options = options(settings, "EXACT");
        try (ProcessCluster cluster =
                ProcessCluster.start(options, up -> terminal.progress("nodes ready", up, NODES, "exact mode"))) {
            Prompts prompts = Prompts.open(settings.model());
            E2eClient client = new E2eClient(cluster, NEW_TOKENS);
            // The first requests of a process run code that is not compiled yet; nobody's answer depends on them.
            for (int node = 0; node < NODES; node++) {
                client.compare(node, prompts.fresh(PREFIX_TOKENS + SUFFIX_TOKENS));
            }
            Exact exact = new Exact(cluster.readyMillis() / 1_000.0, new ArrayList<>(), new ArrayList<>());
            for (int run = 0; run < settings.runs(); run++) {
                terminal.progress("exact mode", run, settings.runs(), "");
                int owner = run % NODES;
                int other = (run + 1) % NODES;
                int[] prompt = prompts.fresh(PREFIX_TOKENS + SUFFIX_TOKENS);
                client.store(owner, prompt);
                exact.local().add(requireReuse(client.compare(owner, prompt), PREFIX_TOKENS, 0));
                client.awaitKnown(other, prompt, PREFIX_TOKENS);
                exact.remote().add(requireReuse(client.compare(other, prompt), 0, PREFIX_TOKENS));
            }
            return exact;
        }
    }

    private static ChatAnswer requireReuse(ChatAnswer answer, int local, int remote) {
        Generation cached = answer.cached();
        if (cached.localTokens() != local || cached.remoteTokens() != remote) {
            throw new Refusal("Reused tokens: " + cached.localTokens() + " local, " + cached.remoteTokens()
                    + " remote, miss reason " + cached.missReason() + " (expected: " + local + " local, " + remote
                    + " remote)");
        }
        return answer;
    }

    private static Fast fast(Settings settings, Terminal terminal) throws IOException, InterruptedException {
        ClusterOptions options = options(settings, "FAST");
        try (ProcessCluster cluster =
                ProcessCluster.start(options, up -> terminal.progress("nodes ready", up, NODES, "fast mode"))) {
            Prompts prompts = Prompts.open(settings.model());
            E2eClient client = new E2eClient(cluster, NEW_TOKENS);
            Fast fast = new Fast(new ArrayList<>());
            for (int run = 0; run < settings.runs(); run++) {
                terminal.progress("fast mode", run, settings.runs(), "");
                int node = run % NODES;
                int[] prompt = prompts.fresh(STORED_TOKENS);
                client.store(node, prompt);
                fast.answers().add(client.compare(node, prompts.branch(prompt, PARTIAL_TOKENS, SUFFIX_TOKENS)));
            }
            return fast;
        }
    }

    /**
     * Answers in exact mode.
     *
     * @param readySeconds until the cluster was ready
     * @param local with the prefix in the node's own memory
     * @param remote with the prefix fetched
     */
    private record Exact(double readySeconds, List<ChatAnswer> local, List<ChatAnswer> remote) {
        List<BenchmarkResult> results() {
            List<ChatAnswer> all = new ArrayList<>(local);
            all.addAll(remote);
            return List.of(
                    against("ttft cached, own memory", local, Target.atMost(0.06)),
                    against("ttft cached, other node", remote, Target.atMost(0.08)),
                    BenchmarkResult.of(
                            "look-up and fetch from other node",
                            Samples.of(remote.stream()
                                    .map(a -> a.cached().lookupNanos() / 1e6)
                                    .toList()),
                            "ms",
                            null),
                    BenchmarkResult.of(
                            "prefill, one core",
                            Samples.of(all.stream()
                                    .map(a -> a.computed().prefillTokensPerSecond())
                                    .toList()),
                            "tokens/s",
                            Target.atLeast(200)),
                    BenchmarkResult.of(
                            "decode, one core",
                            Samples.of(all.stream()
                                    .map(a -> a.computed().decodeTokensPerSecond())
                                    .filter(speed -> speed > 0)
                                    .toList()),
                            "tokens/s",
                            Target.atLeast(15)),
                    share("exact mode, bit-identical logits", all, ChatAnswer::logitsEqual),
                    share("exact mode, identical tokens", all, ChatAnswer::tokensEqual),
                    BenchmarkResult.of("cluster ready", Samples.of(readySeconds), "s", Target.atMost(40)));
        }

        private static BenchmarkResult against(String name, List<ChatAnswer> answers, Target target) {
            return BenchmarkResult.compared(
                    name,
                    Samples.of(answers.stream()
                            .map(a -> ChatAnswer.firstTokenMillis(a.cached()))
                            .toList()),
                    "ms",
                    "computed, same node",
                    Samples.of(answers.stream()
                            .map(a -> ChatAnswer.firstTokenMillis(a.computed()))
                            .toList()),
                    target);
        }

        private static BenchmarkResult share(String name, List<ChatAnswer> answers, Predicate<ChatAnswer> what) {
            double share = (double) answers.stream().filter(what).count() / answers.size();
            return BenchmarkResult.of(name, Samples.of(share), "share", Target.atLeast(1));
        }
    }

    /**
     * Answers in fast mode.
     *
     * @param answers with a prefix that ends inside a block
     */
    private record Fast(List<ChatAnswer> answers) {
        List<BenchmarkResult> results() {
            ReuseAudit audit = new ReuseAudit();
            answers.forEach(answer -> audit.compare(answer.computed(), answer.cached()));
            return List.of(
                    BenchmarkResult.of(
                            "fast mode, tokens reused",
                            Samples.of(answers.stream()
                                    .map(a -> a.cached().reusedTokens())
                                    .toList()),
                            "tokens",
                            Target.atLeast(PARTIAL_TOKENS)),
                    BenchmarkResult.of(
                            "fast mode, tokens that differ at an almost equal choice",
                            Samples.of(audit.tolerated()),
                            "tokens",
                            null),
                    BenchmarkResult.of(
                            "fast mode, tokens that differ otherwise",
                            Samples.of(audit.wrong()),
                            "tokens",
                            Target.atMost(0)));
        }

        /** How far the two best logits were apart at each differing token. */
        List<Float> gaps() {
            List<Float> gaps = new ArrayList<>();
            for (ChatAnswer answer : answers) {
                int[] computed = answer.computed().tokens();
                int[] cached = answer.cached().tokens();
                for (int i = 0; i < Math.min(computed.length, cached.length); i++) {
                    if (computed[i] != cached[i]) {
                        gaps.add(answer.computed().gaps()[i]);
                        break;
                    }
                }
            }
            return gaps;
        }
    }
}
