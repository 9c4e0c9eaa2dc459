// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.ignite.blocks.BlockActs;
import io.mooncake.ignite.blocks.LastingPins;
import io.mooncake.ignite.conductor.ClusterRouter;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.life.LifeWatch;
import io.mooncake.ignite.metrics.MetricsEndpoint;
import io.mooncake.ignite.mirror.SqlMirror;
import io.mooncake.ignite.place.NodePlacement;
import io.mooncake.ignite.query.NodeQueries;
import io.mooncake.ignite.state.Quotas;
import io.mooncake.ignite.state.StateStore;
import java.util.List;

/** The parts that every node runs besides its pool, in starting order. */
final class NodeParts {
    private NodeParts() {}

    static List<NodeComponent> create() {
        return List.of(
                new MetricsEndpoint(),
                new LifeWatch(),
                new StateStore(),
                new Quotas(),
                new NodePlacement(),
                new BlockActs(),
                new LastingPins(),
                new ClusterRouter(),
                new NodeQueries(),
                new SqlMirror());
    }
}
