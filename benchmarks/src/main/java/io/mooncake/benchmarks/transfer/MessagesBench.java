// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the engine's communication SPI costs or saves Ignite's own messages: get, put and compute between two nodes, in clusters that differ in
 * nothing but their SPI and take turns. A ratio is the median latency over that of stock Ignite.
 */
public final class MessagesBench implements Bench {
    /** The property of the SPI that sends Ignite's messages over the engine. */
    static final String SETTER = "setMessagesOverEngine";

    private static final List<String> WORDS = List.of("get", "put", "compute");
    private static final List<Long> SIZES = List.of(64L, 64L << 10, 1L << 20);
    private static final long START_MILLIS = 120_000;
    private static final long PATIENCE_MILLIS = 60_000;
    private static final int FIRST_DISCOVERY_PORT = 48_500;
    private static final int FIRST_COMMUNICATION_PORT = 48_100;

    @Override
    public String name() {
        return "ignite-messages";
    }

    @Override
    public String question() {
        return "Ignite's get, put and compute with the engine's communication SPI against stock";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    private static boolean overEngine() {
        return Arrays.stream(TransferCommunicationSpi.class.getMethods())
                .anyMatch(method -> method.getName().equals(SETTER));
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) {
        int rounds = asked.runs() > 0 ? asked.runs() : asked.quick() ? 5 : 9;
        long millis = asked.quick() ? 100 : 500;
        List<MessagesNodeMain.Mode> modes = new ArrayList<>(List.of(MessagesNodeMain.Mode.values()));
        if (!overEngine()) {
            terminal.line("WITHOUT messages over the engine: this SPI has no such setting");
            modes.remove(MessagesNodeMain.Mode.ENGINE);
        }
        List<ChildProcess> children = new ArrayList<>();
        try {
            Map<MessagesNodeMain.Mode, ChildProcess> drivers = new LinkedHashMap<>();
            for (MessagesNodeMain.Mode mode : modes) {
                terminal.progress("clusters ready", drivers.size(), modes.size(), mode.name());
                node(mode, 0, children).await("READY", START_MILLIS);
                ChildProcess driver = node(mode, 1, children);
                String ready = driver.await("READY", START_MILLIS);
                if (!ready.equals("READY 2")) {
                    throw new Refusal(mode + ": " + ready + " (expected: two nodes in the cluster)");
                }
                drivers.put(mode, driver);
            }
            List<BenchmarkResult> results = new ArrayList<>();
            List<Long> sizes = asked.sizes().isEmpty() ? SIZES : asked.sizes();
            int measured = 0;
            for (String word : WORDS) {
                for (long size : sizes) {
                    terminal.progress("ignite", measured++, WORDS.size() * sizes.size(), word + " " + size + " B");
                    results.addAll(line(word, size, rounds, millis, drivers));
                }
            }
            return BenchmarkReport.here(
                    name(),
                    Home.root(),
                    results,
                    Map.of("settings", Map.of("rounds", rounds, "millisOfARound", millis, "nodes", 2)));
        } finally {
            children.forEach(ChildProcess::close);
        }
    }

    private static List<BenchmarkResult> line(
            String word, long size, int rounds, long millis, Map<MessagesNodeMain.Mode, ChildProcess> drivers) {
        Map<MessagesNodeMain.Mode, List<Double>> micros = new LinkedHashMap<>();
        for (int round = -2; round < rounds; round++) {
            for (Map.Entry<MessagesNodeMain.Mode, ChildProcess> driver : drivers.entrySet()) {
                Measurement measured = Measurement.parse(driver.getValue()
                        .ask("measure " + word + " " + size + " 1 1 1 " + millis, "result", millis + PATIENCE_MILLIS));
                if (round >= 0) {
                    micros.computeIfAbsent(driver.getKey(), first -> new ArrayList<>())
                            .add(measured.medianNanos() / 1e3);
                }
            }
        }
        List<BenchmarkResult> results = new ArrayList<>();
        Samples stock = Samples.of(micros.getOrDefault(MessagesNodeMain.Mode.STOCK, List.of()));
        micros.forEach((mode, values) -> {
            if (mode != MessagesNodeMain.Mode.STOCK) {
                String how = mode == MessagesNodeMain.Mode.PLAIN ? "engine's SPI" : "messages over the engine";
                results.add(BenchmarkResult.compared(
                        word + " " + size + " B, " + how, Samples.of(values), "us", "stock", stock, null));
            }
        });
        return results;
    }

    private static ChildProcess node(MessagesNodeMain.Mode mode, int index, List<ChildProcess> children) {
        String name = "messages-" + mode + "-" + index;
        ChildProcess child = ChildProcess.start(
                name,
                JavaCommand.of(
                        name,
                        "384m",
                        "512m",
                        List.of("-DIGNITE_QUIET=false", "-DIGNITE_NO_ASCII=true"),
                        MessagesNodeMain.class,
                        List.of(
                                mode.name(),
                                Integer.toString(index),
                                Integer.toString(FIRST_DISCOVERY_PORT + 20 * mode.ordinal()),
                                Integer.toString(FIRST_COMMUNICATION_PORT + 20 * mode.ordinal()))),
                Map.of(),
                Home.folder("target/bench/logs/" + name + ".err"));
        children.add(child);
        return child;
    }
}
