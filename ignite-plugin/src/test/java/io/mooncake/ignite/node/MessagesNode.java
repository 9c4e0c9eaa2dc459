// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.TestGrid;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;

/** A server whose messages go over the engine, with a listener that keeps the numbers it is sent; also a process of its own. */
final class MessagesNode {
    static final String TOPIC = "numbers";
    static final int FAILURE_DETECTION_MILLIS = 30_000;

    /** What the nodes of this process have heard, in order. */
    static final List<Integer> HEARD = new CopyOnWriteArrayList<>();

    private MessagesNode() {}

    static TransferCommunicationSpi spi(TestGrid grid, boolean over) {
        TransferCommunicationSpi spi = new TransferCommunicationSpi().setSecret(TestGrid.SECRET);
        spi.setTransferPortFrom(grid.ports() + 32).setTransferPortTo(grid.ports() + 63);
        spi.setMessagesOverEngine(over);
        spi.setLocalPort(grid.ports() + 16);
        spi.setLocalPortRange(14);
        return spi;
    }

    /** For a node whose messages go over the engine, or do not. Many in one process collect garbage together: they get time for that. */
    static void configure(TestGrid grid, boolean over, IgniteConfiguration config) {
        config.setCommunicationSpi(spi(grid, over))
                .setFailureDetectionTimeout(FAILURE_DETECTION_MILLIS)
                .setClientFailureDetectionTimeout(FAILURE_DETECTION_MILLIS);
    }

    static void configure(TestGrid grid, IgniteConfiguration config) {
        configure(grid, true, config);
    }

    static void listen(Ignite node) {
        node.message().localListen(TOPIC, (from, message) -> {
            HEARD.add(number(message));
            return true;
        });
    }

    /** A number on its own, or at both ends of a large array. */
    static Object message(int number) {
        if (number % 40 != 0) {
            return number;
        }
        int[] large = new int[60_000 + number];
        large[0] = number;
        large[large.length - 1] = number;
        return large;
    }

    private static Integer number(Object message) {
        if (message instanceof int[] large) {
            return large[0] == large[large.length - 1] && large.length == 60_000 + large[0] ? large[0] : -1;
        }
        return (Integer) message;
    }

    /** Numbers heard here; runs as a job. */
    static int[] heard() {
        return HEARD.stream().mapToInt(Integer::intValue).toArray();
    }

    /** Starts a server called {@code child} in a process of its own. */
    static Process fork(TestGrid grid, boolean over) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("@" + new File("../jvm.args").getCanonicalPath());
        command.addAll(List.of("-Xmx384m", "-cp", System.getProperty("java.class.path"), MessagesNode.class.getName()));
        command.addAll(List.of("" + grid.ports(), "" + over));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        BufferedReader lines = process.inputReader(StandardCharsets.UTF_8);
        StringBuilder all = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.equals("READY")) {
                Thread rest = new Thread(() -> lines.lines().forEach(ignored -> {}), "child-output");
                rest.setDaemon(true);
                rest.start();
                return process;
            }
            all.append(line).append('\n');
        }
        throw new AssertionError("the child ended: " + all);
    }

    /** The child, as another node sees it. */
    static ClusterNode child(Ignite asking) {
        return asking.cluster().nodes().stream()
                .filter(node -> String.valueOf(node.consistentId()).endsWith("child"))
                .findFirst()
                .orElseThrow();
    }

    /** {@code args}: first port of the grid, whether messages go over the engine. Ends with its standard input. */
    public static void main(String[] args) throws Exception {
        TestGrid grid = new TestGrid(Integer.parseInt(args[0]));
        boolean over = Boolean.parseBoolean(args[1]);
        listen(grid.start("child", config -> configure(grid, over, config)));
        System.out.println("READY");
        while (System.in.read() >= 0) {
            Thread.onSpinWait();
        }
        Runtime.getRuntime().halt(0);
    }
}
