// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.SsdTier;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.SsdTierStatistics;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.Ignite;

/** A server with an SSD that stores one prompt after the other until it is killed, in a process of its own. */
final class SsdKillNode {
    static final int PROMPT = 200;
    static final int WHOLE = 192;

    private SsdKillNode() {}

    /** Sixteen blocks of memory and room for all prompts below it; the SSD is this node's again after a restart. */
    static Ignite start(TestGrid grid, Path folder) {
        MooncakePluginProvider provider = grid.provider()
                .setFetchTimeoutMillis(20_000)
                .setDram("128KiB")
                .setSsd(new SsdTier().setPath(folder.toString()).setCapacity("64MiB"));
        return grid.start("owner", config -> config.setConsistentId("owner").setPluginProviders(provider));
    }

    static io.mooncake.memory.SsdTier tier(Ignite node) {
        return ((MooncakeNode) Mooncake.of(node)).runtime().tiers().get("tiny");
    }

    static Process fork(TestGrid grid, Path folder, long firstSeed) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("@" + new File("../jvm.args").getCanonicalPath());
        command.addAll(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), SsdKillNode.class.getName()));
        command.addAll(List.of("" + grid.ports(), folder.toString(), "" + firstSeed));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    /** The seed in the next line that says {@code what}; -1 when the process has ended. */
    static long next(BufferedReader lines, String what) throws IOException {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.startsWith(what + " ")) {
                return Long.parseLong(line.substring(what.length() + 1));
            }
        }
        return -1;
    }

    static BufferedReader lines(Process process) {
        return process.inputReader(StandardCharsets.UTF_8);
    }

    /** {@code args}: first port of the grid, folder of the SSD, seed of the first prompt. */
    public static void main(String[] args) {
        TestGrid grid = new TestGrid(Integer.parseInt(args[0]));
        Ignite node = start(grid, Path.of(args[1]));
        for (long seed = Long.parseLong(args[2]); ; seed++) {
            TestBlocks.store(Mooncake.of(node).pool("tiny"), TestBlocks.prompt(seed, PROMPT));
            boolean flushed = tier(node).flush(Deadline.ofMillis(20_000));
            SsdTierStatistics statistics = tier(node).statistics();
            if (!flushed || statistics.dropped() + statistics.lost() + statistics.writeFailures() > 0) {
                System.out.println("FAILED " + statistics);
                Runtime.getRuntime().halt(1);
            }
            // Whole lines: the parent reads until the pipe ends.
            System.out.println("SYNCED " + seed);
            System.out.flush();
        }
    }
}
