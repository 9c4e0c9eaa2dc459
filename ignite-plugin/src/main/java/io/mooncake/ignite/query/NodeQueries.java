// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.Role;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Registers views and metrics on every node, and deploys the service from server nodes that hold a pool. */
public final class NodeQueries implements NodeComponent {
    /** Attribute that the service's filter looks for; {@code "true"} on nodes that run it. */
    public static final String SERVICE_ATTRIBUTE = "mooncake.service";

    private volatile @Nullable ServiceDeployer deployer;

    @Override
    public void start(NodeServices services) {
        views(services);
        NodeMetrics.register(services);
    }

    private static void views(NodeServices services) {
        view(
                services,
                BlockRow.VIEW,
                BlockRow.DESCRIPTION,
                BlockRow.COLUMNS,
                filter -> BlockRow.rows(services.localPools(), services.tiers(), filter));
        view(
                services,
                MissRow.VIEW,
                MissRow.DESCRIPTION,
                MissRow.COLUMNS,
                filter -> MissRow.rows(services.localPools(), filter));
        view(services, PathRow.VIEW, PathRow.DESCRIPTION, PathRow.COLUMNS, filter -> PathRow.rows(services, filter));
        view(services, PeerRow.VIEW, PeerRow.DESCRIPTION, PeerRow.COLUMNS, filter -> PeerRow.rows(services, filter));
        view(
                services,
                LeaseRow.VIEW,
                LeaseRow.DESCRIPTION,
                LeaseRow.COLUMNS,
                filter -> LeaseRow.rows(services, filter));
        view(
                services,
                SegmentRow.VIEW,
                SegmentRow.DESCRIPTION,
                SegmentRow.COLUMNS,
                filter -> SegmentRow.rows(services, filter));
        view(
                services,
                TransferRow.VIEW,
                TransferRow.DESCRIPTION,
                TransferRow.COLUMNS,
                filter -> TransferRow.rows(services, filter));
        view(
                services,
                IndexRow.VIEW,
                IndexRow.DESCRIPTION,
                IndexRow.COLUMNS,
                filter -> IndexRow.rows(services, filter));
        // For everybody: it speaks of the caller's own blocks.
        services.adapter()
                .registerView(
                        ExplainRow.VIEW,
                        ExplainRow.DESCRIPTION,
                        ExplainRow.COLUMNS,
                        filter -> ExplainRow.rows(services, filter));
    }

    /** A view for operators, because its rows are of all tenants. */
    private static <R> void view(
            NodeServices services,
            String name,
            String description,
            Columns<R> columns,
            Function<Map<String, Object>, Iterable<R>> rows) {
        services.adapter().registerView(name, description, columns, filter -> {
            services.tenants().requireOperator(services.adapter().sqlCaller());
            return rows.apply(filter);
        });
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
