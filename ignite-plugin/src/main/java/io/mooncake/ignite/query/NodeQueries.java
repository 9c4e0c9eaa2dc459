// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.MooncakeService;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import java.util.Arrays;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.util.AttributeNodeFilter;

/**
 * Registers views and metrics on every node, and the service on server nodes that hold a pool.
 *
 * <p>The service's configuration travels to every node, those without our jars included. That is harmless: Ignite carries the service as
 * bytes and its class as a name, and reads them only on nodes that pass the filter, which is Ignite's own and compares attributes.
 */
public final class NodeQueries implements NodeComponent {
    /** Attribute that the service's filter looks for. */
    public static final String SERVICE_ATTRIBUTE = "mooncake.service";

    @Override
    public void initExtensions(NodeServices services, IgniteConfiguration config) {
        if (config.isClientMode() || services.settings().role() == Role.OBSERVER) {
            return;
        }
        ServiceConfiguration[] known = config.getServiceConfiguration();
        ServiceConfiguration[] all =
                known == null ? new ServiceConfiguration[1] : Arrays.copyOf(known, known.length + 1);
        ServiceConfiguration ours = new ServiceConfiguration();
        ours.setName(MooncakeService.NAME);
        ours.setService(new NodeService());
        ours.setMaxPerNodeCount(1);
        ours.setNodeFilter(new AttributeNodeFilter(SERVICE_ATTRIBUTE, "true"));
        all[all.length - 1] = ours;
        config.setServiceConfiguration(all);
    }

    @Override
    public void start(NodeServices services) {
        services.adapter()
                .registerView(
                        BlockRow.VIEW,
                        BlockRow.DESCRIPTION,
                        new BlockRow.Walker(),
                        filter -> BlockRow.rows(services.localPools(), filter));
        services.adapter()
                .registerView(
                        MissRow.VIEW,
                        MissRow.DESCRIPTION,
                        new MissRow.Walker(),
                        filter -> MissRow.rows(services.localPools()));
        NodeMetrics.register(services);
    }
}
