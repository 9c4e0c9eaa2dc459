// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What a cluster of processes is started with.
 *
 * @param model GGUF file that each node loads
 * @param nodes how many, 1..16
 * @param threads threads of each node's model, at least 1
 * @param dram memory of each node for KV blocks, for example {@code 768MiB}
 * @param ssd where the nodes keep blocks on disk, which the caller closes after the cluster; null: nowhere
 * @param heap largest Java heap of each node, as for {@code -Xmx}
 * @param mode reuse mode of the models: EXACT or FAST
 * @param logs folder of the nodes' logs
 * @param readyMillis how long the nodes may take to be ready
 */
public record ClusterOptions(
        Path model,
        int nodes,
        int threads,
        String dram,
        @Nullable SsdFolders ssd,
        String heap,
        String mode,
        Path logs,
        long readyMillis) {

    private static final int DEMO_NODES = 3;

    /** Names of the demo's nodes. */
    public static List<String> demoNames() {
        return names(DEMO_NODES);
    }

    /** Three nodes as the demo wants them. */
    public static ClusterOptions demo(Path model, String dram, SsdFolders ssd, Path logs) {
        int threads = Math.max(1, Runtime.getRuntime().availableProcessors() / DEMO_NODES);
        return new ClusterOptions(model, DEMO_NODES, threads, dram, ssd, "768m", "EXACT", logs, 180_000);
    }

    /** Names of the nodes: node-1, node-2, ... */
    List<String> names() {
        return names(nodes);
    }

    private static List<String> names(int nodes) {
        return IntStream.rangeClosed(1, nodes).mapToObj(i -> "node-" + i).toList();
    }
}
