// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;

/** On which NUMA nodes this process may run. */
final class CpuNodes {
    private static final String ALLOWED = "Cpus_allowed_list:";
    private static final int MAX_CPUS = 1 << 16;

    private CpuNodes() {}

    /** Locations of the nodes whose processors this process may use; all where the kernel does not say. */
    static List<String> allowed(List<NumaNode> nodes) {
        String list = "";
        try {
            list = Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith(ALLOWED))
                    .map(line -> line.substring(ALLOWED.length()).strip())
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            // Not Linux: every node, below.
            list = "";
        }
        return allowed(nodes, list);
    }

    static List<String> allowed(List<NumaNode> nodes, String cpus) {
        BitSet own = parse(cpus);
        List<String> some = nodes.stream()
                .filter(node -> parse(node.cpus()).intersects(own))
                .map(node -> "cpu:" + node.id())
                .toList();
        return some.isEmpty() ? nodes.stream().map(node -> "cpu:" + node.id()).toList() : some;
    }

    /** The kernel's lists: {@code 0-3,8}; what is none of them has no processors. */
    static BitSet parse(String list) {
        BitSet cpus = new BitSet();
        for (String range : list.split(",")) {
            String[] ends = range.strip().split("-");
            try {
                int from = Integer.parseInt(ends[0]);
                int to = ends.length == 1 ? from : Integer.parseInt(ends[1]);
                if (from >= 0 && from <= to && to < MAX_CPUS) {
                    cpus.set(from, to + 1);
                }
            } catch (NumberFormatException e) {
                continue;
            }
        }
        return cpus;
    }
}
