// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.support;

import io.mooncake.testkit.ForkedJvm;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.TestPorts;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;

/** A cluster of processes of {@link PoolNode}: small ones, without a model, that start within some seconds. Closing it kills what is left. */
public final class PoolProcesses implements AutoCloseable {
    /** Tokens a block. */
    public static final int BLOCK_TOKENS = 16;

    static final String SECRET = "a secret of the processes";

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration START = Duration.ofSeconds(120);

    private final int firstPort = TestPorts.free(64);
    private final Path folder;
    private final long failureDetectionMillis;
    private final List<String> properties;
    private final List<Node> nodes = new ArrayList<>();
    private final AtomicInteger commands = new AtomicInteger();

    /** A cluster with files in {@code folder}; {@code properties} of {@link PoolNode} as {@code key=value}. */
    public PoolProcesses(Path folder, Duration failureDetection, String... properties) {
        this.folder = folder;
        this.failureDetectionMillis = failureDetection.toMillis();
        this.properties = List.of(properties);
    }

    /** First of the ports of each node. */
    public int firstPort() {
        return firstPort;
    }

    /** Launches a node on the loopback address without waiting for it. */
    public Node launch(String name, String... more) {
        return launch(name, "127.0.0.1", "127.0.0.1:" + firstPort + ".." + (firstPort + 14), List.of(), more);
    }

    /** Launches a node elsewhere. */
    public Node launch(String name, String host, String addresses, List<String> launcher, String... more) {
        ForkedJvm.Builder builder = ForkedJvm.of(PoolNode.class.getName())
                .launcher(launcher.toArray(String[]::new))
                .jvmArguments("-Xms32m", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                .property("java.io.tmpdir", folder.toString())
                .arguments(name, host, addresses, Integer.toString(firstPort), Long.toString(failureDetectionMillis));
        for (String pair : properties) {
            builder.jvmArguments("-D" + pair);
        }
        for (String pair : more) {
            builder.jvmArguments("-D" + pair);
        }
        Node node = new Node(name, builder.start());
        nodes.add(node);
        return node;
    }

    /** Waits until every one of {@code alive} sees exactly these and has them as members. */
    public static void awaitTogether(List<Node> alive) {
        Set<UUID> expected = new TreeSet<>();
        alive.forEach(node -> expected.add(node.id()));
        for (Node node : alive) {
            MooncakeCluster.await(
                    node.name + " to see " + alive.size() + " nodes",
                    PATIENCE,
                    () -> node.ids("nodes").equals(expected)
                            && node.ids("members").equals(expected));
        }
    }

    @Override
    public void close() {
        nodes.forEach(node -> node.process.close());
    }

    /** One process. */
    public final class Node {
        private final String name;
        private final ForkedJvm process;

        private Node(String name, ForkedJvm process) {
            this.name = name;
            this.process = process;
        }

        /** Its process. */
        public ForkedJvm process() {
            return process;
        }

        /** Its name and consistent id. */
        public String name() {
            return name;
        }

        /** Its id in Ignite; waits until it has started. */
        public UUID id() {
            String line = process.awaitLine("POOL NODE ", START);
            return UUID.fromString(line.substring(line.lastIndexOf(' ') + 1));
        }

        /** Tells it something; {@link #answer} waits for what it says. */
        public int tell(String command) {
            int id = commands.incrementAndGet();
            process.tell(id + " " + command);
            return id;
        }

        /** What it answered, in words. */
        public String[] answer(int command) {
            String line = process.awaitLine("#" + command + " ", PATIENCE);
            String[] words = line.substring(line.indexOf('#')).split(" ");
            return Arrays.copyOfRange(words, 1, words.length);
        }

        /** Both. */
        public String[] ask(String command) {
            return answer(tell(command));
        }

        /** Ids that it answers with. */
        public Set<UUID> ids(String command) {
            Set<UUID> ids = new TreeSet<>();
            for (String word : ask(command)) {
                if (!word.isEmpty()) {
                    ids.add(UUID.fromString(word));
                }
            }
            return ids;
        }

        /** Nodes that hold the whole prompt, as this one sees it. */
        public Set<UUID> holders(long seed, int length) {
            return ids("holders " + seed + " " + length);
        }

        /** Nodes from which it would take the prompt now, itself included where it has some. */
        public Set<UUID> sources(long seed, int length) {
            return ids("sources " + seed + " " + length);
        }

        /** Tokens of the prompt that it takes, with every byte checked; of those, the ones of other nodes. */
        public int[] take(long seed, int length) {
            return taken(tell("take " + seed + " " + length));
        }

        /** The same of a command that was told. */
        public int[] taken(int command) {
            String[] words = answer(command);
            if (words[0].equals("ERROR")) {
                throw new AssertionError(name + ": " + String.join(" ", words));
            }
            return new int[] {Integer.parseInt(words[0]), Integer.parseInt(words[2])};
        }
    }
}
