// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import io.mooncake.ignite.NodeExtension;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.TenantResolver;
import io.mooncake.ignite.security.JobClasses;
import io.mooncake.transfer.TransferEngineConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The plugin's configuration as validated.
 *
 * @param role what this node does
 * @param secret the cluster's secret
 * @param dramBytes off-heap memory for blocks; 0 on observers
 * @param evictionPolicy name of the policy that says which blocks stay in memory
 * @param ssd where blocks are kept on an SSD; null: nowhere
 * @param sharedMemory directory of the file through which nodes of this machine may map the memory; null where they may not
 * @param hugePages whether the memory lies in a mount of hugetlbfs where one has the pages, since no directory was named
 * @param pools pools of this node, from beans and extensions
 * @param extensions extensions in starting order
 * @param engine of an engine that the plugin owns; null where the communication SPI owns it
 * @param advertisedHostNamed whether the bean names the address that peers connect to, so that Ignite's resolver is not asked
 * @param leaseTerm how long a fetch leases blocks of a peer
 * @param fetchTimeout most time an acquire spends on fetching
 * @param heartbeat interval of the feed's heartbeats
 * @param mirrorRowBudget most rows of this node in the SQL mirror
 * @param stateRowBudget most rows of the cluster in the lasting state
 * @param replicas copies of each block that the cluster keeps
 * @param drainOnStop how long a stopping node gives its blocks to others; zero: not at all
 * @param warmUpShare share of the pools that a starting node fills from its peers
 * @param indexEntries most blocks of other nodes that this node knows of, in each pool
 * @param indexTokens most token ids of such blocks that it remembers, in each of its own pools in FAST mode
 * @param feedRingBytes off the heap, for the last events of this node's pools
 * @param metricsHost where metrics are shown to Prometheus
 * @param metricsPort its port; 0: nowhere
 * @param jobClasses classes that may be in jobs and their answers
 * @param tenantResolver says whose blocks a caller sees; null: all are the default tenant's
 * @param operators logins that see the figures of all tenants
 * @param memoryPlan what the node may use at most
 */
public record MooncakeSettings(
        Role role,
        String secret,
        long dramBytes,
        String evictionPolicy,
        @Nullable SsdPlace ssd,
        @Nullable Path sharedMemory,
        boolean hugePages,
        List<PoolDefinition> pools,
        List<NodeExtension> extensions,
        @Nullable TransferEngineConfig engine,
        boolean advertisedHostNamed,
        Duration leaseTerm,
        Duration fetchTimeout,
        Duration heartbeat,
        int mirrorRowBudget,
        int stateRowBudget,
        int replicas,
        Duration drainOnStop,
        double warmUpShare,
        int indexEntries,
        int indexTokens,
        long feedRingBytes,
        String metricsHost,
        int metricsPort,
        JobClasses jobClasses,
        @Nullable TenantResolver tenantResolver,
        List<String> operators,
        MemoryPlan memoryPlan) {
    public MooncakeSettings {
        pools = List.copyOf(pools);
        extensions = List.copyOf(extensions);
        operators = List.copyOf(operators);
    }

    @Override
    public String toString() {
        return "MooncakeSettings[role=" + role + ", dramBytes=" + dramBytes + ", ssd=" + ssd + ", pools="
                + pools.stream().map(PoolDefinition::name).toList() + ", engine="
                + (engine == null ? "the communication SPI's" : engine) + "]";
    }
}
