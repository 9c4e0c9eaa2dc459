// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * On which NUMA nodes memory of this process lies, by what the kernel says of each mapping: where its pages are, and for pages that are not
 * there yet, where its policy wants them. A mapping is looked at as a whole, be the range that is asked for a part of it. Memory of which
 * nothing is known comes from the nodes that the process runs on.
 */
final class MemoryLocations {
    /** A node with fewer of the pages, of 100, does not count. */
    private static final int LEAST_PERCENT = 25;

    private static final Path MAPPINGS = Path.of("/proc/self/numa_maps");

    private MemoryLocations() {}

    /** Locations {@code cpu:N} of the range, one at least. On a machine with one node, nothing is read. */
    static List<String> of(List<NumaNode> nodes, long address, long length) {
        if (nodes.size() > 1) {
            try (BufferedReader mappings = Files.newBufferedReader(MAPPINGS)) {
                List<Integer> found = nodes(mappings, address, length);
                if (!found.isEmpty()) {
                    return found.stream().map(node -> "cpu:" + node).toList();
                }
            } catch (IOException e) {
                // A kernel that does not say: below.
                return CpuNodes.allowed(nodes);
            }
        }
        return CpuNodes.allowed(nodes);
    }

    /** The nodes of the range by the text of numa_maps, whose lines come in the order of addresses; empty when it does not say. */
    static List<Integer> nodes(BufferedReader mappings, long address, long length) throws IOException {
        Map<Integer, Long> pages = new TreeMap<>();
        List<Integer> wanted = List.of();
        String before = "";
        String line = mappings.readLine();
        // A line does not say where its mapping ends: at the latest where the next one begins.
        while (line != null) {
            long from = start(line);
            if (Long.compareUnsigned(from, address) > 0 && !before.isEmpty()) {
                wanted = add(before, pages, wanted);
            }
            if (Long.compareUnsigned(from, address + length) >= 0) {
                before = "";
                break;
            }
            before = line;
            line = mappings.readLine();
        }
        if (!before.isEmpty()) {
            wanted = add(before, pages, wanted);
        }
        long all = pages.values().stream().mapToLong(Long::longValue).sum();
        List<Integer> many = pages.entrySet().stream()
                .filter(one -> one.getValue() * 100 >= all * LEAST_PERCENT)
                .map(Map.Entry::getKey)
                .toList();
        return many.isEmpty() ? wanted : many;
    }

    private static long start(String line) {
        try {
            return Long.parseUnsignedLong(line.split(" ", 2)[0], 16);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    /** Adds a mapping's pages; what its policy wants where that is the first to say anything. */
    private static List<Integer> add(String line, Map<Integer, Long> pages, List<Integer> wanted) {
        String[] words = line.split(" ");
        long kilobytes = Arrays.stream(words)
                .filter(word -> word.startsWith("kernelpagesize_kB="))
                .mapToLong(word -> number(word.substring(word.indexOf('=') + 1)))
                .findFirst()
                .orElse(4);
        for (String word : words) {
            int equals = word.indexOf('=');
            if (equals > 1 && word.charAt(0) == 'N') {
                long node = number(word.substring(1, equals));
                if (node >= 0) {
                    pages.merge((int) node, kilobytes * number(word.substring(equals + 1)), Long::sum);
                }
            }
        }
        return wanted.isEmpty() ? policy(words) : wanted;
    }

    /**
     * Nodes of {@code bind:0-1}, {@code prefer:1} and their like, of {@code prefer (many):1} and {@code weighted interleave:0-1} too; none of
     * {@code default} and {@code local}.
     */
    private static List<Integer> policy(String[] words) {
        List<Integer> nodes = new ArrayList<>();
        String word = words.length > 1 ? words[1] : "";
        if (words.length > 2 && (word.equals("prefer") || word.equals("weighted"))) {
            word = words[2];
        }
        int colon = word.lastIndexOf(':');
        if (colon > 0) {
            CpuNodes.parse(word.substring(colon + 1)).stream().forEach(nodes::add);
        }
        return nodes;
    }

    private static long number(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
