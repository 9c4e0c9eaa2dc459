// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.topology;

import io.mooncake.base.MooncakeException;
import io.mooncake.examples.cli.TextTable;
import io.mooncake.transfer.topology.Gpu;
import io.mooncake.transfer.topology.Nic;
import io.mooncake.transfer.topology.NumaNode;
import io.mooncake.transfer.topology.RailPreference;
import io.mooncake.transfer.topology.Topology;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code topology}: where interfaces, memory and GPUs sit, and which rails each memory location prefers. */
@Command(
        name = "topology",
        description = "Shows network interfaces, NUMA nodes and GPUs, and the rails for each memory location.",
        mixinStandardHelpOptions = true)
public final class TopologyCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli before call
    private CommandSpec spec;

    @Option(
            names = "--file",
            paramLabel = "FILE",
            description = "What else to believe: lines of the form  location = preferred, ... | secondary, ...")
    private @Nullable Path file;

    @Override
    public Integer call() {
        Topology topology = Topology.read();
        if (file != null) {
            try {
                topology = topology.withOverrides(file);
            } catch (MooncakeException e) {
                throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
            }
        }
        PrintWriter out = spec.commandLine().getOut();
        print(out, "NUMA nodes", nodes(topology.numaNodes()));
        print(out, "Network interfaces", nics(topology.nics()));
        if (topology.gpus().isEmpty()) {
            out.println("GPUs: none");
            out.println();
        } else {
            print(out, "GPUs", gpus(topology.gpus()));
        }
        print(out, "Rails", rails(topology.rails()));
        return 0;
    }

    private static void print(PrintWriter out, String heading, TextTable table) {
        out.println(heading);
        table.lines().forEach(line -> out.println("  " + line));
        out.println();
        out.flush();
    }

    private static TextTable nodes(List<NumaNode> nodes) {
        TextTable table = new TextTable(List.of("node", "processors", "distances"));
        for (NumaNode node : nodes) {
            table.row(List.of(
                    String.valueOf(node.id()),
                    node.cpus().isEmpty() ? "not known" : node.cpus(),
                    String.join(
                            " ", node.distances().stream().map(String::valueOf).toList())));
        }
        return table;
    }

    private static TextTable nics(List<Nic> nics) {
        TextTable table = new TextTable(List.of("name", "kind", "link", "Mbit/s", "node", "place"));
        for (Nic nic : nics) {
            table.row(List.of(
                    nic.name(),
                    nic.rdma() ? "RDMA" : "network",
                    nic.active() ? "up" : "not up",
                    nic.megabits() < 0 ? "-" : String.valueOf(nic.megabits()),
                    nic.numaNode() < 0 ? "-" : String.valueOf(nic.numaNode()),
                    nic.physical() ? String.join(" > ", nic.pciPath()) : "virtual"));
        }
        return table;
    }

    private static TextTable gpus(List<Gpu> gpus) {
        TextTable table = new TextTable(List.of("GPU", "node", "place"));
        for (Gpu gpu : gpus) {
            table.row(List.of(
                    String.valueOf(gpu.index()),
                    gpu.numaNode() < 0 ? "-" : String.valueOf(gpu.numaNode()),
                    String.join(" > ", gpu.pciPath())));
        }
        return table;
    }

    private static TextTable rails(List<RailPreference> rails) {
        TextTable table = new TextTable(List.of("memory", "preferred", "secondary", "why"));
        for (RailPreference rail : rails) {
            table.row(List.of(
                    rail.location(),
                    rail.preferred().isEmpty() ? "none" : String.join(", ", rail.preferred()),
                    rail.secondary().isEmpty() ? "none" : String.join(", ", rail.secondary()),
                    why(rail)));
        }
        return table;
    }

    private static String why(RailPreference rail) {
        if (rail.overridden()) {
            return "the file says so";
        }
        return switch (rail.proximity()) {
            case SWITCH -> "same PCI switch";
            case ROOT_COMPLEX -> "same PCI root complex";
            case NUMA_NODE -> "same NUMA node";
            case OTHER_NODE -> "another NUMA node";
            case UNKNOWN -> rail.preferred().isEmpty() ? "no interface is up" : "the kernel does not say";
        };
    }
}
