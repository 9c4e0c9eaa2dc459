// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import java.nio.file.Path;

/**
 * How the demo is run.
 *
 * @param model GGUF file
 * @param plan what to ask
 * @param newTokens tokens of each answer
 * @param parallel requests at a time; 0 for one a core, at most one a node
 * @param killNode whether one node is killed midway
 * @param ssd existing folder below which the nodes keep blocks on disk
 */
record DemoOptions(Path model, Plan plan, int newTokens, int parallel, boolean killNode, Path ssd) {
    /** Requests at a time on a cluster of {@code nodes}. A node that is to die while it works needs the others to work meanwhile. */
    int lanes(int nodes) {
        if (parallel > 0) {
            return parallel;
        }
        return killNode
                ? nodes
                : Math.max(1, Math.min(nodes, Runtime.getRuntime().availableProcessors()));
    }
}
