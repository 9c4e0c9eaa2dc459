// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.index;

import io.mooncake.benchmarks.Bench;
import io.mooncake.benchmarks.transfer.ChildProcess;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * How fast a node announces blocks to another one, and how soon it can use them there: two processes, real sockets, the shipped feed and index on both
 * sides. The count of what the index has is checked.
 */
public final class FeedBench implements Bench {
    private static final int EVENTS = 2_000_000;
    private static final int QUICK_EVENTS = 200_000;
    /** At which delays are measured. */
    private static final int EVENTS_A_SECOND = 50_000;

    private static final int SECONDS = 5;

    @Override
    public String name() {
        return "feed";
    }

    @Override
    public String question() {
        return "how fast a node announces blocks to another, and how soon they are found there";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) {
        int events = asked.blocks().isEmpty()
                ? asked.quick() ? QUICK_EVENTS : EVENTS
                : asked.blocks().get(0);
        int rounds = asked.runs() > 0 ? asked.runs() : 5;
        try (ChildProcess owner = FeedPair.startOwner()) {
            return measure(owner, events, rounds, asked.quick(), terminal);
        }
    }

    private BenchmarkReport measure(ChildProcess owner, int events, int rounds, boolean quick, Terminal terminal) {
        List<Double> encoded = new ArrayList<>();
        List<Double> applied = new ArrayList<>();
        List<Double> delays = new ArrayList<>();
        List<Double> medians = new ArrayList<>();
        long repairs = 0;
        for (int round = -1; round < rounds; round++) {
            terminal.progress("feed", round + 1, rounds + 1, events + " events");
            try (FeedPair pair = new FeedPair(owner, events)) {
                FeedPair.Rate rate = pair.announce(events);
                if (round >= 0) {
                    encoded.add(rate.announcedPerSecond() / 1e6);
                    applied.add(rate.appliedPerSecond() / 1e6);
                    repairs += pair.repairs();
                }
            }
            int paced = quick ? EVENTS_A_SECOND / 2 : EVENTS_A_SECOND * SECONDS;
            try (FeedPair pair = new FeedPair(owner, paced)) {
                double[] micros = pair.pace(paced, EVENTS_A_SECOND);
                if (round >= 0) {
                    Arrays.sort(micros);
                    delays.add(micros[(int) (micros.length * 0.99)] / 1e3);
                    medians.add(micros[micros.length / 2] / 1e3);
                    repairs += pair.repairs();
                }
            }
        }
        List<BenchmarkResult> results = List.of(
                BenchmarkResult.of(
                        "events announced a second (numbered, encoded, kept, sent)",
                        Samples.of(encoded),
                        "M/s",
                        Target.atLeast(0.5)),
                BenchmarkResult.of(
                        "events a second until the other node's index has all",
                        Samples.of(applied),
                        "M/s",
                        Target.atLeast(0.5)),
                BenchmarkResult.of("at 50,000 events/s: median until found there", Samples.of(medians), "ms", null),
                BenchmarkResult.of("the same: 99th percentile", Samples.of(delays), "ms", Target.atMost(20)));
        return BenchmarkReport.here(
                name(),
                Home.root(),
                results,
                Map.of("settings", Map.of("events", events, "rounds", rounds, "repairs", repairs)));
    }
}
