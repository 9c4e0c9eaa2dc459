// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.Role;
import io.mooncake.ignite.adapter.IgniteAdapter;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import org.jspecify.annotations.Nullable;

/** Registers views and metrics on every node, and deploys the service from server nodes that hold a pool. */
public final class NodeQueries implements NodeComponent {
    /** Attribute that the service's filter looks for; {@code "true"} on nodes that run it. */
    public static final String SERVICE_ATTRIBUTE = "mooncake.service";

    private volatile @Nullable ServiceDeployer deployer;

    @Override
    public void start(NodeServices services) {
        IgniteAdapter views = services.adapter();
        views.registerView(
                BlockRow.VIEW,
                BlockRow.DESCRIPTION,
                BlockRow.COLUMNS,
                filter -> BlockRow.rows(services.localPools(), services.tiers(), filter));
        views.registerView(
                MissRow.VIEW,
                MissRow.DESCRIPTION,
                MissRow.COLUMNS,
                filter -> MissRow.rows(services.localPools(), filter));
        views.registerView(
                PathRow.VIEW, PathRow.DESCRIPTION, PathRow.COLUMNS, filter -> PathRow.rows(services, filter));
        views.registerView(
                PeerRow.VIEW, PeerRow.DESCRIPTION, PeerRow.COLUMNS, filter -> PeerRow.rows(services, filter));
        views.registerView(
                LeaseRow.VIEW, LeaseRow.DESCRIPTION, LeaseRow.COLUMNS, filter -> LeaseRow.rows(services, filter));
        views.registerView(
                SegmentRow.VIEW,
                SegmentRow.DESCRIPTION,
                SegmentRow.COLUMNS,
                filter -> SegmentRow.rows(services, filter));
        views.registerView(
                TransferRow.VIEW,
                TransferRow.DESCRIPTION,
                TransferRow.COLUMNS,
                filter -> TransferRow.rows(services, filter));
        views.registerView(
                ExplainRow.VIEW,
                ExplainRow.DESCRIPTION,
                ExplainRow.COLUMNS,
                filter -> ExplainRow.rows(services, filter));
        views.registerView(
                IndexRow.VIEW, IndexRow.DESCRIPTION, IndexRow.COLUMNS, filter -> IndexRow.rows(services, filter));
        NodeMetrics.register(services);
    }

    @Override
    public void onIgniteStart(NodeServices services) {
        boolean client = services.ignite().configuration().isClientMode();
        if (!client && services.settings().role() != Role.OBSERVER) {
            ServiceDeployer ours = new ServiceDeployer(services);
            deployer = ours;
            ours.start();
        }
    }

    @Override
    public void onIgniteStop() {
        ServiceDeployer ours = deployer;
        if (ours != null) {
            ours.stop();
        }
    }
}
