// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.apache.ignite.internal.client.GridClientNode;
import org.jspecify.annotations.Nullable;

/** The nodes that a command asks. */
final class PoolNodes {
    /** As NodeQueries publishes it: {@code "true"} on nodes that hold a pool. */
    private static final String ATTRIBUTE = "mooncake.service";

    private PoolNodes() {}

    /** Those that hold a pool: others may not have our classes. */
    static Collection<GridClientNode> of(Collection<GridClientNode> nodes) {
        List<GridClientNode> found = nodes.stream()
                .filter(node -> !node.isClient() && "true".equals(node.attribute(ATTRIBUTE)))
                .toList();
        if (found.isEmpty()) {
            throw new IllegalArgumentException(
                    "nodes: " + nodes.size() + " without Mooncake's plugin (expected: at least one that holds a pool)");
        }
        return found;
    }

    /** The one with that id, if it holds a pool. */
    static Collection<GridClientNode> one(Collection<GridClientNode> nodes, @Nullable UUID id) {
        List<GridClientNode> found =
                of(nodes).stream().filter(node -> node.nodeId().equals(id)).toList();
        if (found.isEmpty()) {
            throw new IllegalArgumentException("--node-id: " + id + " (expected: a node that holds a pool, one of "
                    + of(nodes).stream().map(GridClientNode::nodeId).toList() + ")");
        }
        return found;
    }
}
