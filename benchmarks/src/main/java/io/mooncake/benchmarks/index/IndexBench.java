// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.index;

import io.mooncake.benchmarks.Bench;
import io.mooncake.benchmarks.index.IndexedChains.Chain;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import io.mooncake.ignite.index.PoolIndex.Run;
import io.mooncake.memory.Tenant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Who holds a chain of 512 blocks, in a router's index of ten million: by keys, by tokens, and while an eighth of the entries lose their owner; and who
 * has a part of a block. Each
 * result is checked: a look-up that finds another holder, or a lost one, ends the run.
 */
public final class IndexBench implements Bench {
    private static final int ENTRIES = 10_000_000;
    private static final int QUICK_ENTRIES = 1_000_000;
    private static final long SEED = 20_261_130;
    private static final int WARM_UP = 20;

    @Override
    public String name() {
        return "index";
    }

    @Override
    public String question() {
        return "who holds a prompt, in an index of ten million blocks, also while their owners are lost";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) {
        int entries = asked.blocks().isEmpty()
                ? asked.quick() ? QUICK_ENTRIES : ENTRIES
                : asked.blocks().get(0);
        int rounds = asked.runs() > 0 ? asked.runs() : 7;
        terminal.progress("index", 0, 3, "announcing " + entries + " blocks");
        IndexedChains chains = new IndexedChains(entries, SEED);
        long pairs = chains.index.entries();
        List<Double> byKeys = new ArrayList<>();
        List<Double> byTokens = new ArrayList<>();
        List<Double> misses = new ArrayList<>();
        int[] stranger = chains.tokens(-1);
        terminal.progress("index", 1, 3, "look-ups");
        for (int round = -WARM_UP; round < rounds; round++) {
            double[] keys = new double[chains.kept.size()];
            double[] tokens = new double[chains.kept.size()];
            double[] nothing = new double[chains.kept.size()];
            for (int i = 0; i < chains.kept.size(); i++) {
                Chain chain = chains.kept.get(i);
                keys[i] =
                        micros(() -> requireAll(chains, chain, chains.index.runs(chain.words(), IndexedChains.LENGTH)));
                tokens[i] = micros(() -> requireAll(chains, chain, chains.index.runs(Tenant.DEFAULT, chain.tokens())));
                nothing[i] = micros(() -> requireNone(chains.index.runs(Tenant.DEFAULT, stranger)));
            }
            if (round >= 0) {
                byKeys.add(Samples.of(keys).median());
                byTokens.add(Samples.of(tokens).median());
                misses.add(Samples.of(nothing).median());
            }
        }
        double bytes = (double) chains.index.bytes() / pairs;
        terminal.progress("index", 2, 3, "an owner is lost");
        List<BenchmarkResult> results = new ArrayList<>(List.of(
                BenchmarkResult.of("512 blocks by keys", Samples.of(byKeys), "us", Target.atMost(20)),
                BenchmarkResult.of("512 blocks by tokens", Samples.of(byTokens), "us", Target.atMost(80)),
                BenchmarkResult.of("a prompt that nobody has", Samples.of(misses), "us", null),
                BenchmarkResult.of(
                        "blocks announced to it a second",
                        Samples.of(pairs / chains.storeSeconds / 1e6),
                        "M/s",
                        Target.atLeast(0.5)),
                BenchmarkResult.of("memory off the heap, an entry", Samples.of(bytes), "B", Target.atMost(64))));
        results.addAll(whileAnOwnerIsLost(chains));
        results.add(parts(rounds));
        return BenchmarkReport.here(
                name(), Home.root(), results, Map.of("settings", Map.of("entries", pairs, "rounds", rounds)));
    }

    /** Look-ups, one after the other, from the loss of one of eight owners until its entries are cleared. */
    private static List<BenchmarkResult> whileAnOwnerIsLost(IndexedChains chains) {
        double[] micros = new double[1 << 20];
        int count = 0;
        long start = System.nanoTime();
        chains.copies.get(0).drop();
        double hidden = (System.nanoTime() - start) / 1e3;
        // Whoever comes next gets a slot at once; the lost one's comes back when it is swept.
        do {
            Chain chain = chains.kept.get(count % chains.kept.size());
            micros[count++] = micros(() -> {
                List<Run> runs = chains.index.runs(chain.words(), IndexedChains.LENGTH);
                if (chain.owner() == 0) {
                    requireNone(runs);
                } else {
                    requireAll(chains, chain, runs);
                }
            });
        } while (count < micros.length && System.nanoTime() - start < 500_000_000L);
        double[] sorted = Arrays.copyOf(micros, count);
        Arrays.sort(sorted);
        return List.of(
                BenchmarkResult.of(
                        "loss of an eighth of them: until no look-up finds them", Samples.of(hidden), "us", null),
                BenchmarkResult.of(
                        "the same: 99th percentile of look-ups in the half second after",
                        Samples.of(sorted[(int) (count * 0.99)]),
                        "us",
                        Target.atMost(1_000)));
    }

    /** Parts of blocks in FAST mode. */
    private static BenchmarkResult parts(int rounds) {
        IndexedParts parts = new IndexedParts(SEED);
        List<Double> medians = new ArrayList<>();
        for (int round = -WARM_UP; round < rounds; round++) {
            double[] micros = new double[parts.count()];
            for (int i = 0; i < micros.length; i++) {
                int number = i;
                micros[i] = micros(() -> parts.find(number));
            }
            if (round >= 0) {
                medians.add(Samples.of(micros).median());
            }
        }
        return BenchmarkResult.of(
                "a part of a block, among 64 that begin alike", Samples.of(medians), "us", Target.atMost(20));
    }

    private static double micros(Runnable action) {
        long start = System.nanoTime();
        action.run();
        return (System.nanoTime() - start) / 1e3;
    }

    private static void requireAll(IndexedChains chains, Chain chain, List<Run> runs) {
        UUID owner = chains.owners.get(chain.owner());
        if (runs.size() != 1 || !runs.get(0).equals(new Run(owner, IndexedChains.LENGTH))) {
            throw new IllegalStateException("found " + runs + " (expected: all blocks with " + owner + ")");
        }
    }

    private static void requireNone(List<Run> runs) {
        if (!runs.isEmpty()) {
            throw new IllegalStateException("found " + runs + " (expected: nothing)");
        }
    }
}
