// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.Collection;
import org.apache.ignite.internal.client.GridClientNode;

/** {@code --mooncake warm}: a node fetches what its peers use most. */
public final class MooncakeWarmCommand extends LinesCommand<MooncakeWarmCommandArg> {
    public MooncakeWarmCommand() {
        super(
                "Fill the free memory of one node with the KV blocks that its peers use most",
                MooncakeWarmCommandArg.class,
                MooncakeWarmTask.class);
    }

    @Override
    public Collection<GridClientNode> nodes(Collection<GridClientNode> nodes, MooncakeWarmCommandArg argument) {
        return PoolNodes.one(nodes, argument.nodeId());
    }
}
