// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.ssd;

import io.mooncake.base.Deadline;
import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import io.mooncake.memory.ssd.SsdSettings;
import io.mooncake.memory.ssd.SsdStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * How fast the SSD store writes and reads blocks of 1 MiB beside fio with direct I/O, and how long it takes to find an index of 200,000 blocks
 * again.
 *
 * <p>Store and fio take turns in each round, on files of the same size of one file system, with equally many operations at once; both have
 * written all of their file before. fio is measured with io_uring and with a thread an operation; the better one is the reference. Writes of the
 * store are timed until all are stored, with its commits running beside, and once more until all are synced.
 */
public final class SsdBench implements Bench {
    private static final int BLOCK_BYTES = 1 << 20;
    private static final int INDEX_BLOCKS = 200_000;
    private static final int INDEX_BLOCK_BYTES = 4096;
    private static final List<Integer> DEPTHS = List.of(4, 8);
    private static final String IDENTITY = "0123456789abcdef".repeat(4);

    @Override
    public String name() {
        return "ssd";
    }

    @Override
    public String question() {
        return "the SSD store's reads and writes of 1 MiB beside fio with direct I/O; recovery of 200,000 blocks";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    /** The figures of one round in GB/s, by what was measured. */
    private static final class Rounds {
        private final Map<String, List<Double>> gigabytes = new LinkedHashMap<>();

        void add(String what, double bytesPerSecond) {
            gigabytes.computeIfAbsent(what, first -> new ArrayList<>()).add(bytesPerSecond / 1e9);
        }

        boolean has(String what) {
            return gigabytes.containsKey(what);
        }

        Samples of(String what) {
            return Samples.of(gigabytes.getOrDefault(what, List.of()));
        }
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) throws IOException {
        int rounds = asked.runs() > 0 ? asked.runs() : asked.quick() ? 5 : 7;
        int records = asked.quick() ? 256 : 1024;
        FioProgram fio = FioProgram.find();
        if (fio.missing()) {
            terminal.line("WITHOUT fio, the reference: no program of that name");
        }
        Path folder = Home.folder("target/bench/ssd");
        delete(folder);
        Files.createDirectories(folder);
        List<BenchmarkResult> results = new ArrayList<>();
        boolean direct;
        try {
            direct = blocks(folder, fio, rounds, records, results, terminal);
            recovery(folder, asked.quick() ? 3 : 5, results, terminal);
        } finally {
            delete(folder);
        }
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("rounds", rounds);
        settings.put("records", records);
        settings.put("blockBytes", BLOCK_BYTES);
        settings.put("directIo", direct);
        settings.put("fio", fio.version());
        settings.put("fileSystem", Files.getFileStore(Home.root()).type());
        return BenchmarkReport.here(name(), Home.root(), results, Map.of("settings", settings));
    }

    private static boolean blocks(
            Path folder, FioProgram fio, int rounds, int records, List<BenchmarkResult> results, Terminal terminal)
            throws IOException {
        long bytes = (long) records * BLOCK_BYTES;
        boolean direct = false;
        for (int depth : DEPTHS) {
            delete(folder);
            Files.createDirectories(folder);
            Path file = folder.resolve("fio");
            Rounds figures = new Rounds();
            SsdSettings settings = SsdSettings.builder(folder, "bench", IDENTITY, BLOCK_BYTES, bytes)
                    .ioThreads(depth)
                    .scrubBytesPerSecond(0)
                    .build();
            try (SsdStore store = SsdStore.open(settings);
                    StoreRuns runs = new StoreRuns(store, records, 2 * depth)) {
                direct = store.directIo();
                runs.write(0);
                runs.flush();
                if (!fio.missing()) {
                    fio.bytesPerSecond(file, true, bytes, BLOCK_BYTES, depth, false);
                }
                for (int round = 0; round < rounds; round++) {
                    terminal.progress("depth " + depth, round, rounds, "write and read");
                    runs.removeAll(round);
                    fioRound(fio, figures, file, true, bytes, depth);
                    long start = System.nanoTime();
                    figures.add("write", runs.write(round + 1));
                    runs.flush();
                    figures.add("synced", bytes * 1e9 / (System.nanoTime() - start));
                    fioRound(fio, figures, file, false, bytes, depth);
                    figures.add("read", runs.read(round + 1));
                }
            }
            line(results, figures, "write", "write 1 MiB, depth " + depth, "write", true);
            line(results, figures, "synced", "write 1 MiB until synced, depth " + depth, "write", false);
            line(results, figures, "read", "read 1 MiB, depth " + depth, "read", true);
        }
        return direct;
    }

    private static void fioRound(FioProgram fio, Rounds figures, Path file, boolean write, long bytes, int depth)
            throws IOException {
        if (!fio.missing()) {
            for (boolean threads : new boolean[] {false, true}) {
                figures.add(
                        fioName(write ? "write" : "read", threads),
                        fio.bytesPerSecond(file, write, bytes, BLOCK_BYTES, depth, threads));
            }
        }
    }

    private static String fioName(String what, boolean threads) {
        return "fio " + (threads ? "threads " : "io_uring ") + what;
    }

    private static void line(
            List<BenchmarkResult> results, Rounds figures, String what, String name, String reference, boolean target) {
        String best = fioName(reference, false);
        String other = fioName(reference, true);
        if (!figures.has(best)) {
            results.add(BenchmarkResult.of(name, figures.of(what), "GB/s", null));
            return;
        }
        if (figures.of(other).median() > figures.of(best).median()) {
            best = other;
        }
        results.add(BenchmarkResult.compared(
                name,
                figures.of(what),
                "GB/s",
                best.replace(" " + reference, ""),
                figures.of(best),
                target ? Target.atLeast(0.85) : null));
    }

    private static void recovery(Path folder, int runs, List<BenchmarkResult> results, Terminal terminal)
            throws IOException {
        delete(folder);
        Files.createDirectories(folder);
        SsdSettings settings = SsdSettings.builder(
                        folder, "bench", IDENTITY, INDEX_BLOCK_BYTES, (long) INDEX_BLOCKS * INDEX_BLOCK_BYTES)
                .scrubBytesPerSecond(0)
                .build();
        terminal.progress("recovery", 0, runs, "writing " + INDEX_BLOCKS + " blocks");
        try (SsdStore store = SsdStore.open(settings);
                StoreRuns blocks = new StoreRuns(store, INDEX_BLOCKS, 16)) {
            blocks.write(0);
            blocks.flush();
        }
        try (SsdStore store = SsdStore.open(settings)) {
            // The first commit after a start writes the index anew, which is what a node finds after its second one.
            store.remove(StoreRuns.key(0));
            if (!store.flush(Deadline.ofMillis(60_000))) {
                throw new IOException("no commit within a minute");
            }
        }
        List<Double> millis = new ArrayList<>();
        for (int run = 0; run < runs; run++) {
            terminal.progress("recovery", run, runs, "");
            long start = System.nanoTime();
            try (SsdStore store = SsdStore.open(settings)) {
                millis.add((System.nanoTime() - start) / 1e6);
                if (store.statistics().records() != INDEX_BLOCKS - 1) {
                    throw new IOException(
                            "records: " + store.statistics().records() + " (expected: " + (INDEX_BLOCKS - 1) + ")");
                }
            }
        }
        results.add(BenchmarkResult.of(
                "recovery of an index of 200,000 blocks", Samples.of(millis), "ms", Target.atMost(2_000)));
    }

    private static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
