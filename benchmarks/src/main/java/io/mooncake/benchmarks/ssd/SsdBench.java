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
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * How fast the SSD store writes and reads blocks of 1 MiB beside fio with direct I/O, how long it takes to find an index of 200,000 blocks
 * again, and how long until a node has told others of as many.
 *
 * <p>Store and fio take turns in each round, another one first each time, on files of the same size of one file system, with equally many
 * operations at once; both have written all of their file before. fio is measured with io_uring and with a thread an operation; the better one is the reference, and a ratio is the median of the rounds' ratios. Writes of the
 * store are timed until all are stored, with its commits running beside, and once more until all are synced.
 */
public final class SsdBench implements Bench {
    private static final int BLOCK_BYTES = 1 << 20;
    private static final int INDEX_BLOCKS = 200_000;
    private static final int INDEX_BLOCK_BYTES = 4096;
    private static final int ANNOUNCEMENTS = 3;
    private static final List<Integer> DEPTHS = List.of(4, 8);
    private static final String STORE = "store";
    private static final String SYNCED = "store synced";
    private static final String FIO_URING = "fio io_uring";
    private static final String FIO_THREADS = "fio threads";
    private static final String IDENTITY = "0123456789abcdef".repeat(4);

    private final int askedRecords;
    private final int indexBlocks;

    /** As large as the figures are asked for. */
    public SsdBench() {
        this(0, INDEX_BLOCKS);
    }

    /** A small one, to see whether it works. */
    SsdBench(int records, int indexBlocks) {
        askedRecords = records;
        this.indexBlocks = indexBlocks;
    }

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

    /** Writes or reads all of a file: bytes a second. */
    private interface Turn {
        double bytesPerSecond(boolean write) throws IOException;
    }

    private record Contender(String name, Turn turn) {}

    /** GB/s in each round, by contender and what was done. */
    private static final class Rounds {
        private final Map<String, List<Double>> gigabytes = new LinkedHashMap<>();

        void add(String what, double bytesPerSecond) {
            gigabytes.computeIfAbsent(what, first -> new ArrayList<>()).add(bytesPerSecond / 1e9);
        }

        List<Double> of(String what) {
            return gigabytes.getOrDefault(what, List.of());
        }

        double median(String what) {
            return of(what).isEmpty() ? 0 : Samples.of(of(what)).median();
        }

        /** The median of the rounds' ratios: what disturbs the machine for longer than a turn disturbs both. */
        double ratio(String what, String reference) {
            List<Double> ratios = new ArrayList<>();
            for (int round = 0; round < of(what).size(); round++) {
                ratios.add(of(what).get(round) / of(reference).get(round));
            }
            return Samples.of(ratios).median();
        }
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) throws IOException {
        int rounds = asked.runs() > 0 ? asked.runs() : asked.quick() ? 5 : 7;
        int records = askedRecords > 0 ? askedRecords : asked.quick() ? 128 : 256;
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
            announcement(folder, asked.quick() ? indexBlocks / 10 : indexBlocks, results, terminal);
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
            Rounds figures = new Rounds();
            SsdSettings settings = SsdSettings.builder(folder, "bench", IDENTITY, BLOCK_BYTES, bytes)
                    .ioThreads(depth)
                    .scrubBytesPerSecond(0)
                    .build();
            try (SsdStore store = SsdStore.open(settings);
                    StoreRuns runs = new StoreRuns(store, records, 2 * depth)) {
                direct = store.directIo();
                List<Contender> contenders = contenders(folder, fio, runs, bytes, depth, figures);
                // The first round fills the files and warms the compiler up.
                for (int round = -1; round < rounds; round++) {
                    terminal.progress("depth " + depth, Math.max(0, round), rounds, "write and read");
                    for (boolean write : new boolean[] {true, false}) {
                        for (int i = 0; i < contenders.size(); i++) {
                            Contender contender = contenders.get((i + round + 1) % contenders.size());
                            double speed = contender.turn().bytesPerSecond(write);
                            if (round >= 0) {
                                figures.add(contender.name() + (write ? " write" : " read"), speed);
                            }
                        }
                    }
                }
            }
            line(results, figures, STORE + " write", "write 1 MiB, depth " + depth, "write", true);
            // Without the round that warmed up.
            figures.of(SYNCED).remove(0);
            line(results, figures, SYNCED, "write 1 MiB until synced, depth " + depth, "write", false);
            line(results, figures, STORE + " read", "read 1 MiB, depth " + depth, "read", true);
        }
        return direct;
    }

    private static List<Contender> contenders(
            Path folder, FioProgram fio, StoreRuns runs, long bytes, int depth, Rounds figures) {
        List<Contender> contenders = new ArrayList<>();
        if (!fio.missing()) {
            Path file = folder.resolve("fio");
            for (boolean threads : new boolean[] {false, true}) {
                contenders.add(new Contender(
                        threads ? FIO_THREADS : FIO_URING,
                        write -> fio.bytesPerSecond(file, write, bytes, BLOCK_BYTES, depth, threads)));
            }
        }
        int[] generation = {0};
        contenders.add(new Contender(STORE, write -> {
            if (!write) {
                return runs.read(generation[0]);
            }
            runs.removeAll(generation[0]);
            long start = System.nanoTime();
            double speed = runs.write(++generation[0]);
            runs.flush();
            figures.add(SYNCED, bytes * 1e9 / (System.nanoTime() - start));
            return speed;
        }));
        return contenders;
    }

    private static void line(
            List<BenchmarkResult> results, Rounds figures, String what, String name, String reference, boolean target) {
        Samples value = Samples.of(figures.of(what));
        String uring = FIO_URING + " " + reference;
        String threads = FIO_THREADS + " " + reference;
        if (figures.of(uring).isEmpty()) {
            results.add(BenchmarkResult.of(name, value, "GB/s", null));
            return;
        }
        boolean best = figures.median(threads) > figures.median(uring);
        Samples other = Samples.of(figures.of(best ? threads : uring));
        double ratio = figures.ratio(what, best ? threads : uring);
        Target least = target ? Target.atLeast(0.85) : null;
        results.add(new BenchmarkResult(
                name,
                value.median(),
                "GB/s",
                best ? FIO_THREADS : FIO_URING,
                other.median(),
                ratio,
                least == null ? null : "ratio " + least,
                least == null ? null : least.met(ratio),
                value.min(),
                value.max(),
                value.runs(),
                other.min(),
                other.max()));
    }

    private void recovery(Path folder, int runs, List<BenchmarkResult> results, Terminal terminal) throws IOException {
        delete(folder);
        Files.createDirectories(folder);
        SsdSettings settings = SsdSettings.builder(
                        folder, "bench", IDENTITY, INDEX_BLOCK_BYTES, (long) indexBlocks * INDEX_BLOCK_BYTES)
                .scrubBytesPerSecond(0)
                .build();
        terminal.progress("recovery", 0, runs, "writing " + indexBlocks + " blocks");
        try (SsdStore store = SsdStore.open(settings);
                StoreRuns blocks = new StoreRuns(store, indexBlocks, 16)) {
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
                if (store.statistics().records() != indexBlocks - 1) {
                    throw new IOException(
                            "records: " + store.statistics().records() + " (expected: " + (indexBlocks - 1) + ")");
                }
            }
        }
        results.add(BenchmarkResult.of(
                String.format(Locale.ROOT, "recovery of an index of %,d blocks", indexBlocks),
                Samples.of(millis),
                "ms",
                Target.atMost(2_000)));
    }

    /** Beside the index the header of each block is read, one read a block. */
    private static void announcement(Path folder, int blocks, List<BenchmarkResult> results, Terminal terminal)
            throws IOException {
        delete(folder);
        Files.createDirectories(folder);
        terminal.progress("tier announced", 0, ANNOUNCEMENTS, "writing " + blocks + " blocks");
        TierRuns tier = new TierRuns(folder, blocks);
        tier.fill();
        List<Double> millis = new ArrayList<>();
        for (int run = 0; run < ANNOUNCEMENTS; run++) {
            terminal.progress("tier announced", run, ANNOUNCEMENTS, "");
            millis.add(tier.announceMillis());
        }
        results.add(BenchmarkResult.of(
                String.format(Locale.ROOT, "tier announced, %,d blocks", blocks),
                Samples.of(millis),
                "ms",
                Target.atMost(2_000.0 * blocks / INDEX_BLOCKS)));
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
