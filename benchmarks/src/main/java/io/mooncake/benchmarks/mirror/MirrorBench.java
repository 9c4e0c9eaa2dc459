// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.mirror;

import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * How many blocks a second the SQL mirror shows, and what they take in its data region: one Ignite node with the plugin and SQL, whose pool
 * holds chains of 512 blocks. Each round empties the cache and switches the cluster to read-only and back, after which the mirror reads the pool and writes all rows
 * anew; the rate is the blocks shown by the time of that pass, as the node's metric has it.
 */
public final class MirrorBench implements Bench {
    private static final int BLOCKS = 65_536;
    private static final int QUICK_BLOCKS = 16_384;
    private static final int WARM_UP = 3;

    @Override
    public String name() {
        return "mirror";
    }

    @Override
    public String question() {
        return "blocks a second that MOONCAKE.PREFIXES shows, and bytes a block in its data region";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) throws InterruptedException {
        int blocks = asked.blocks().isEmpty()
                ? asked.quick() ? QUICK_BLOCKS : BLOCKS
                : asked.blocks().get(0);
        int rounds = asked.runs() > 0 ? asked.runs() : asked.quick() ? 5 : 9;
        try (MirroredNode node = new MirroredNode(blocks)) {
            terminal.progress("mirror", 0, rounds, "storing " + blocks + " blocks");
            int quarter = node.store(blocks / 4);
            long before = node.regionBytes();
            int all = node.store(blocks);
            double bytes = (double) (node.regionBytes() - before) / (all - quarter);
            List<Double> rates = new ArrayList<>();
            for (int round = -WARM_UP; round < rounds; round++) {
                terminal.progress("mirror", Math.max(0, round), rounds, "writing all rows");
                double seconds = node.rewriteSeconds();
                if (round >= 0) {
                    rates.add(all / seconds / 1e6);
                }
            }
            return BenchmarkReport.here(
                    name(),
                    Home.root(),
                    List.of(
                            BenchmarkResult.of("blocks shown a second", Samples.of(rates), "M/s", Target.atLeast(0.3)),
                            BenchmarkResult.of("data region, a block", Samples.of(bytes), "B", Target.atMost(40))),
                    Map.of("settings", Map.of("blocks", all, "rounds", rounds, "nodes", 1)));
        }
    }
}
