// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.natives.Verbs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How fast the engine moves bytes between two processes, beside what a C program reaches and beside Mooncake's own engine.
 *
 * <p>All contenders of a line take turns in each round, and a ratio is the median of the rounds' ratios: what disturbs the machine for longer
 * than a turn disturbs them all. Memory is touched before; ranges rotate over it.
 */
public final class TransferBench implements Bench {
    /** What {@code --transport} takes. */
    public static final List<String> TRANSPORTS = List.of("tcp", "shm", "rdma");
    /** What {@code --peer} takes. */
    public static final List<String> PEERS = List.of("mooncake");

    private static final List<Long> SIZES = List.of(8L, 4L << 10, 64L << 10, 1L << 20, 16L << 20, 64L << 20);
    private static final int MAX_BATCH = 64;
    private static final long MAX_BATCH_BYTES = 64L << 20;
    /** The compiler of the Java machine needs many calls before it has compiled the whole way of a transfer. */
    private static final long FIRST_WARM_UP_MILLIS = 5_000;

    private final @Nullable TransferSettings fixed;

    public TransferBench() {
        this(null);
    }

    /** @param fixed what to measure with whatever is asked for, or null */
    TransferBench(@Nullable TransferSettings fixed) {
        this.fixed = fixed;
    }

    @Override
    public String name() {
        return "transfer";
    }

    @Override
    public String question() {
        return "latency and bandwidth between two processes over tcp, shm and rdma, beside C and (--peer mooncake) Mooncake";
    }

    @Override
    public List<String> peers() {
        return PEERS;
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    @Override
    public boolean showsResults() {
        return true;
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) {
        TransferSettings settings = fixed == null ? TransferSettings.here(asked.runs(), asked.quick()) : fixed;
        CeilingProgram ceiling = CeilingProgram.compile();
        PeerProgram peer = asked.peer() == null ? PeerProgram.none() : PeerProgram.find();
        say(terminal, settings, ceiling, peer, asked.peer() != null);
        List<TransferRow> rows = new ArrayList<>();
        for (String transport : asked.transports()) {
            rows.addAll(rowsOf(transport, asked, settings, ceiling, peer, terminal));
        }
        terminal.endProgress();
        List<BenchmarkResult> results =
                rows.stream().flatMap(row -> row.targets().stream()).toList();
        TransferTable.verdict(rows, terminal);
        return BenchmarkReport.here(
                name(),
                Home.root(),
                results,
                Map.of("settings", describe(asked, settings, ceiling, peer), "rows", rows));
    }

    private static void say(
            Terminal terminal, TransferSettings settings, CeilingProgram ceiling, PeerProgram peer, boolean peerAsked) {
        terminal.line(
                "Two processes on this machine, %d MiB of touched memory each (last level cache: %d MiB), %d connections.",
                settings.memoryBytes() >> 20, settings.cacheBytes() >> 20, settings.connections());
        terminal.line(
                "Each line: %d rounds, each contender %d ms a round in turns.", settings.rounds(), settings.millis());
        if (settings.busy()) {
            terminal.line(
                    "This machine is BUSY (load %.1f): figures come out low, ratios suffer less.", settings.load());
        }
        if (!ceiling.reason().isEmpty()) {
            terminal.line("WITHOUT the C program: " + ceiling.reason());
        }
        if (peer.reason().isEmpty()) {
            terminal.line("Mooncake: " + PeerProgram.PACKAGE + " " + peer.version() + ", " + PeerProgram.ENVIRONMENT);
        } else if (peerAsked) {
            terminal.line("WITHOUT Mooncake: " + peer.reason());
        }
    }

    private List<TransferRow> rowsOf(
            String transport,
            Settings asked,
            TransferSettings settings,
            CeilingProgram ceiling,
            PeerProgram peer,
            Terminal terminal) {
        List<Cell> cells = cells(transport, asked.sizes().isEmpty() ? SIZES : asked.sizes());
        String obstacle = transport.equals("rdma") ? rdmaObstacle() : "";
        if (!obstacle.isEmpty()) {
            return List.of(TransferTable.missing(cells.get(0), obstacle, terminal));
        }
        terminal.progress("starting the processes for " + transport, 0, cells.size(), "");
        try (Field field =
                switch (transport) {
                    case "tcp" -> Field.tcp(settings, ceiling, peer);
                    case "shm" -> Field.shm(settings, ceiling);
                    default -> Field.rdma(settings);
                }) {
            TransferTable.heading(transport, terminal);
            if (transport.equals("rdma")) {
                terminal.line("Device: " + rdmaDevice());
            }
            Rounds rounds = new Rounds(field, settings, terminal);
            rounds.warmUp(cells, asked.quick() ? FIRST_WARM_UP_MILLIS / 4 : FIRST_WARM_UP_MILLIS);
            List<TransferRow> rows = new ArrayList<>();
            for (Cell cell : cells) {
                terminal.progress(transport, rows.size(), cells.size(), cell.name());
                TransferRow row = rounds.measure(cell);
                TransferTable.row(row, terminal);
                rows.add(row);
            }
            return rows;
        } catch (Refusal e) {
            if (transport.equals("tcp")) {
                throw e;
            }
            return List.of(TransferTable.missing(cells.get(0), String.valueOf(e.getMessage()), terminal));
        }
    }

    private static List<Cell> cells(String transport, List<Long> sizes) {
        List<Operation> single =
                switch (transport) {
                    case "tcp" -> List.of(Operation.READ, Operation.WRITE, Operation.LEASED_READ);
                    case "shm" -> List.of(Operation.LEASED_READ, Operation.LEASED_READ_UNCHECKED, Operation.WRITE);
                    default -> List.of(Operation.LEASED_READ, Operation.WRITE, Operation.READ);
                };
        List<Cell> cells = new ArrayList<>();
        for (Operation operation : single) {
            for (long size : sizes) {
                cells.add(new Cell(transport, operation, size, 1));
            }
        }
        for (Operation operation : single.subList(0, 2)) {
            for (long size : sizes) {
                int batch = (int) Math.min(MAX_BATCH, MAX_BATCH_BYTES / size);
                if (batch > 1) {
                    cells.add(new Cell(transport, operation, size, batch));
                }
            }
        }
        return cells;
    }

    /** Why RDMA cannot be measured here; empty when it can. */
    private static String rdmaObstacle() {
        return Verbs.devices().isEmpty() ? "no device: " + Verbs.unavailable().orElse("libibverbs finds none") : "";
    }

    /** The first device, for people; empty where there is none. */
    private static String rdmaDevice() {
        List<String> devices = Verbs.devices();
        if (devices.isEmpty()) {
            return "";
        }
        // The software device tells which network interface it stands on; a card doesn't.
        boolean soft = Files.exists(Path.of("/sys/class/infiniband", devices.get(0), "parent"));
        return devices.get(0)
                + (soft ? " (soft-RoCE: the ratios say what the engine adds, the figures nothing about a card)" : "");
    }

    private static Map<String, Object> describe(
            Settings asked, TransferSettings settings, CeilingProgram ceiling, PeerProgram peer) {
        Map<String, Object> text = new LinkedHashMap<>();
        text.put("transports", asked.transports());
        text.put("rounds", settings.rounds());
        text.put("millisOfARound", settings.millis());
        text.put("quick", asked.quick());
        text.put("loadBefore", settings.load());
        text.put("connections", settings.connections());
        text.put("memoryBytesOfAProcess", settings.memoryBytes());
        text.put("lastLevelCacheBytes", settings.cacheBytes());
        text.put("memoryLargerThanCache", settings.largerThanCache());
        text.put("memory", "touched before; private pages, over shm pages of files in /dev/shm");
        text.put("rdmaDevice", rdmaDevice());
        text.put("ratio", "median of the rounds' ratios");
        text.put("ceiling", ceiling.reason().isEmpty() ? "ceiling.c, cc -O3" : ceiling.reason());
        Map<String, Object> other = new LinkedHashMap<>();
        other.put("package", PeerProgram.PACKAGE);
        other.put("version", peer.version());
        other.put("environment", PeerProgram.ENVIRONMENT);
        other.put("missing", peer.reason());
        text.put("peer", other);
        return text;
    }
}
