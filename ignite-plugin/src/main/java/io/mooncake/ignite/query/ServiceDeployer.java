// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.client.MooncakeService;
import io.mooncake.ignite.internal.NodeServices;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.util.AttributeNodeFilter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deploys the service after the node has joined, and tries again while the cluster is inactive.
 *
 * <p>Why not in the node's configuration: Ignite 2.17 forgets the node filter of a service that a joining node brings along (the nodes
 * that are there already take it for deployable everywhere, nodes without our jars included, and the joiner may be halted by the
 * disagreement). A service deployed at run time keeps its filter on every node, joiners included. Ignite carries the service as bytes and
 * its class as a name and reads them only on nodes that pass the filter, which is Ignite's own and compares attributes. What stays: a
 * query of SYS.SERVICES on a node without our jars fails, because Ignite resolves the class of every service there.
 */
final class ServiceDeployer {
    private static final long RETRY_MILLIS = 2_000;
    private static final long TIMEOUT_MILLIS = 15_000;
    private static final Logger LOG = LoggerFactory.getLogger(ServiceDeployer.class);

    private final NodeServices services;
    private volatile boolean stopped;
    private volatile boolean deployed;
    private volatile boolean complained;

    ServiceDeployer(NodeServices services) {
        this.services = services;
    }

    void start() {
        later(0);
    }

    void stop() {
        stopped = true;
    }

    /** Whether the cluster took the service. */
    boolean deployed() {
        return deployed;
    }

    private void later(long millis) {
        try {
            services.scheduler()
                    .schedule(() -> services.workers().execute(this::deploy), millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("Service not deployed: the node stops");
        }
    }

    private void deploy() {
        if (stopped) {
            return;
        }
        try {
            if (services.ignite().cluster().state() != ClusterState.INACTIVE) {
                // Equal configurations of several nodes are one deployment.
                services.ignite()
                        .services()
                        .deployAllAsync(List.of(configuration()))
                        .get(TIMEOUT_MILLIS);
                deployed = true;
                return;
            }
        } catch (RuntimeException e) {
            if (!complained && !stopped) {
                complained = true;
                LOG.info(
                        "Service {} could not be deployed and will be tried again: {}",
                        MooncakeService.NAME,
                        e.toString());
            }
        }
        later(RETRY_MILLIS);
    }

    private static ServiceConfiguration configuration() {
        ServiceConfiguration ours = new ServiceConfiguration();
        ours.setName(MooncakeService.NAME);
        ours.setService(new NodeService());
        ours.setMaxPerNodeCount(1);
        ours.setNodeFilter(new AttributeNodeFilter(NodeQueries.SERVICE_ATTRIBUTE, "true"));
        return ours;
    }
}
