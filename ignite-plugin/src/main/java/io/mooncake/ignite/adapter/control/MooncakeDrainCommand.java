// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.Collection;
import org.apache.ignite.internal.client.GridClientNode;

/** {@code --mooncake drain}: a node gives what only it holds to others, before it is stopped. */
public final class MooncakeDrainCommand extends LinesCommand<MooncakeDrainCommandArg> {
    public MooncakeDrainCommand() {
        super(
                "Give the KV blocks that only one node holds to others, before it is stopped",
                MooncakeDrainCommandArg.class,
                MooncakeDrainTask.class);
    }

    @Override
    public Collection<GridClientNode> nodes(Collection<GridClientNode> nodes, MooncakeDrainCommandArg argument) {
        return PoolNodes.one(nodes, argument.nodeId());
    }
}
