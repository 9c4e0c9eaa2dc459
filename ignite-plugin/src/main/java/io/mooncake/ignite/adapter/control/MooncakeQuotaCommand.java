// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.Collection;
import java.util.List;
import org.apache.ignite.internal.client.GridClientNode;

/** {@code --mooncake quota}: sets, takes away or lists what tenants may have on each node. */
public final class MooncakeQuotaCommand extends LinesCommand<MooncakeQuotaCommandArg> {
    public MooncakeQuotaCommand() {
        super(
                "Set or list what the KV blocks of a tenant may take on each node",
                MooncakeQuotaCommandArg.class,
                MooncakeQuotaTask.class);
    }

    /** Any one: what it writes is for all. */
    @Override
    public Collection<GridClientNode> nodes(Collection<GridClientNode> nodes, MooncakeQuotaCommandArg argument) {
        return List.of(PoolNodes.of(nodes).iterator().next());
    }
}
