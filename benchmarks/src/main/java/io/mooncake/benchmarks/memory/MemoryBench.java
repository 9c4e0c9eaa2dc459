// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.memory;

import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What it costs to allocate and free a block, and to lease and release it, by one thread and by two; what that puts on the Java heap; and
 * what Arrow's allocator and the C library's take for the same. All take turns. A single compare-and-set is measured too: it is the floor of
 * anything that threads share, and says how fast the machine was at the time. At the end, look-ups in a pool as it is used.
 */
public final class MemoryBench implements Bench {
    private static final String ARROW = "Arrow buffer + close";

    /** How a figure is named, which loops it compares, and what it must reach. */
    private record Line(
            String name,
            String loop,
            int threads,
            @Nullable String reference,
            @Nullable Target target) {}

    private static final List<Line> LINES = List.of(
            new Line("slab allocate + free, 1 thread", "slab", 1, "arrow", Target.atMost(20)),
            new Line("slab allocate + free, 2 threads", "slab", 2, "arrow", Target.atMost(90)),
            new Line("arena allocate + free 1 MiB, 1 thread", "arena", 1, "arrow", Target.atMost(20)),
            new Line("arena allocate + free 1 MiB, 2 threads", "arena", 2, "arrow", Target.atMost(90)),
            new Line("arena allocate 64, free 64 of four sizes, 1 thread", "arena mixed", 1, "malloc mixed", null),
            new Line("lease + release, 1 thread", "lease", 1, "arrow retain", Target.atMost(20)),
            new Line("lease + release, 2 threads, two blocks", "lease", 2, "arrow retain", null),
            new Line("lease + release, 2 threads, one block", "lease shared", 2, null, null),
            new Line("PoolBuffer allocate + close, 1 thread", "buffer", 1, "arrow", null),
            new Line("PoolBuffer lease + close, 1 thread", "buffer lease", 1, "arrow retain", null),
            new Line("malloc + free 1 MiB, 1 thread", "malloc", 1, "arrow", null),
            new Line("one compare-and-set, 1 thread", "floor", 1, null, null));

    @Override
    public String name() {
        return "memory";
    }

    @Override
    public String question() {
        return "allocate, free, lease and release a block, against Arrow's allocator and malloc; look-ups in a pool";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    @Override
    public BenchmarkReport run(Settings settings, Terminal terminal) throws InterruptedException {
        int rounds = settings.runs() > 0 ? settings.runs() : settings.quick() ? 7 : 21;
        long nanos = (settings.quick() ? 10 : 40) * 1_000_000L;
        Map<String, List<Double>> times = new LinkedHashMap<>();
        Map<String, Double> heap = new LinkedHashMap<>();
        try (MemoryLoops loops = new MemoryLoops()) {
            // Two rounds more than are counted, for the compilers.
            for (int round = -2; round < rounds; round++) {
                terminal.progress("memory", Math.max(0, round), rounds, "rounds");
                for (Line line : LINES) {
                    measure(loops, line.loop(), line.threads(), nanos, round >= 0, times, heap);
                    if (line.reference() != null) {
                        measure(loops, line.reference(), line.threads(), nanos, round >= 0, times, heap);
                    }
                }
            }
        }
        List<BenchmarkResult> results = new ArrayList<>();
        for (Line line : LINES) {
            results.add(result(line, times));
        }
        for (String loop : List.of("slab", "arena", "lease")) {
            results.add(BenchmarkResult.of(
                    "heap a " + loop + " operation",
                    Samples.of(heap.getOrDefault(loop + "/1", Double.NaN)),
                    "B",
                    Target.atMost(0)));
        }
        terminal.progress("memory", rounds, rounds, "pool");
        results.addAll(pool(rounds, nanos));
        return BenchmarkReport.here(
                name(),
                Home.root(),
                results,
                Map.of("settings", Map.of("rounds", rounds, "millisOfARound", nanos / 1_000_000)));
    }

    /** Look-ups in a pool as it is used. */
    private static List<BenchmarkResult> pool(int rounds, long nanos) {
        List<BenchmarkResult> results = new ArrayList<>();
        try (PoolLoops loops = new PoolLoops()) {
            for (PoolLoops.LookUp lookUp : PoolLoops.LookUp.values()) {
                List<Double> acquire = new ArrayList<>();
                List<Double> close = new ArrayList<>();
                double heap = Double.MAX_VALUE;
                // Two rounds more than are counted, for the compilers.
                for (int round = -2; round < rounds; round++) {
                    PoolLoops.Cost cost = loops.measure(lookUp, nanos);
                    if (round >= 0) {
                        acquire.add(cost.acquireNanos() / 1_000);
                        close.add(cost.closeNanos() / 1_000);
                        heap = Math.min(heap, cost.heapBytes());
                    }
                }
                String name = "pool: " + lookUp.text;
                results.add(BenchmarkResult.of(name + ", acquire", Samples.of(acquire), "us", null));
                results.add(BenchmarkResult.of(name + ", close", Samples.of(close), "us", null));
                results.add(BenchmarkResult.of(name + ", heap", Samples.of(heap), "B", null));
            }
        }
        return results;
    }

    /** Value and reference, the target on the value: what matters is the figure itself, the reference is beside it. */
    private static BenchmarkResult result(Line line, Map<String, List<Double>> times) {
        Samples value = samples(times, line.loop(), line.threads());
        BenchmarkResult alone = BenchmarkResult.of(line.name(), value, "ns", line.target());
        if (line.reference() == null) {
            return alone;
        }
        Samples reference = samples(times, line.reference(), line.threads());
        String name = line.reference().equals("arrow") ? ARROW : line.reference();
        return new BenchmarkResult(
                alone.name(),
                alone.value(),
                alone.unit(),
                name,
                reference.median(),
                value.median() / reference.median(),
                alone.target(),
                alone.met(),
                alone.min(),
                alone.max(),
                alone.runs(),
                reference.min(),
                reference.max());
    }

    private static Samples samples(Map<String, List<Double>> times, String loop, int threads) {
        return Samples.of(times.getOrDefault(loop + "/" + threads, List.of()));
    }

    private static void measure(
            MemoryLoops loops,
            String loop,
            int threads,
            long nanos,
            boolean counts,
            Map<String, List<Double>> times,
            Map<String, Double> heap)
            throws InterruptedException {
        MemoryLoops.Cost cost = loops.measure(loop, threads, nanos);
        if (counts) {
            String key = loop + "/" + threads;
            times.computeIfAbsent(key, first -> new ArrayList<>()).add(cost.nanos());
            heap.merge(key, cost.heapBytes(), Math::min);
        }
    }
}
