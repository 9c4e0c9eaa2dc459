// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import io.mooncake.ignite.NodeExtension;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.SsdTier;
import io.mooncake.ignite.TenantResolver;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.ignite.metrics.PrometheusMetricExporterSpi;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.transfer.ignite.EngineOptions;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The bean's values as they were set, defaults in place, nothing checked, the engine's among them. Mutable until the node starts. */
public final class PluginOptions extends EngineOptions {
    public @Nullable Role role;
    public @Nullable String dram;
    public @Nullable String evictionPolicy = LocalKvPool.DEFAULT_POLICY;
    public @Nullable SsdTier ssd;
    public @Nullable Boolean sharedMemory;
    public @Nullable String sharedMemoryDirectory;
    public @Nullable List<? extends NodeExtension> extensions = List.of();
    public @Nullable List<PoolBean> pools = List.of();
    public long leaseMillis = 10_000;
    public long fetchTimeoutMillis = 2_000;
    public long heartbeatMillis = 1_000;
    public int mirrorRowBudget = 100_000;
    public int stateRowBudget = 10_000;
    public int replicas = 1;
    public long drainOnStopTimeoutMillis = 5_000;
    public double warmUpShare;
    public int indexEntries = PoolIndex.DEFAULT_ENTRIES;
    public int indexTokens = PoolIndex.DEFAULT_TOKENS;
    public @Nullable String feedRing = "16MiB";
    public @Nullable String metricsHost = PrometheusMetricExporterSpi.DEFAULT_HOST;
    public int metricsPort;
    public @Nullable String jobClasses = "";
    public @Nullable TenantResolver tenantResolver;
    public @Nullable List<String> operators = List.of("ignite");
}
