// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.config.PluginOptions;
import io.mooncake.ignite.config.SettingsReader;
import io.mooncake.ignite.node.NodeRuntime;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.plugin.CachePluginContext;
import org.apache.ignite.plugin.CachePluginProvider;
import org.apache.ignite.plugin.ExtensionRegistry;
import org.apache.ignite.plugin.IgnitePlugin;
import org.apache.ignite.plugin.PluginConfiguration;
import org.apache.ignite.plugin.PluginContext;
import org.apache.ignite.plugin.PluginProvider;
import org.apache.ignite.plugin.PluginValidationException;
import org.jspecify.annotations.Nullable;

/**
 * The bean that enables the product on a node, in Spring XML or code. Options, defaults and ranges: docs/configuration.md.
 *
 * <pre>{@code
 * <property name="pluginProviders"><list>
 *   <bean class="io.mooncake.ignite.MooncakePluginProvider">
 *     <property name="secret" value="..."/>
 *     <property name="dram" value="8GiB"/>
 *   </bean>
 * </list></property>
 * }</pre>
 *
 * <p>Everything is checked before Ignite starts anything; all violations come in one message. One instance serves one node. Setters after
 * the start have no effect.
 */
public final class MooncakePluginProvider implements PluginProvider<PluginConfiguration> {
    private final PluginOptions options = new PluginOptions();
    private volatile @Nullable NodeRuntime runtime;

    /** The cluster's secret, 16..256 characters, the same on every node. Required. */
    public MooncakePluginProvider setSecret(@Nullable String secret) {
        options.secret = secret;
        return this;
    }

    /** What this node does; STORE on servers and OBSERVER on clients by default. */
    public MooncakePluginProvider setRole(@Nullable Role role) {
        options.role = role;
        return this;
    }

    /** Off-heap memory for blocks, for example {@code 8GiB}, shared evenly by the node's pools. Required but on observers. */
    public MooncakePluginProvider setDram(@Nullable String dram) {
        options.dram = dram;
        return this;
    }

    /** Which blocks leave memory for others: return-index, the default, lru, lfu, gdsf, s3-fifo, arc or w-tinylfu. */
    public MooncakePluginProvider setEvictionPolicy(@Nullable String evictionPolicy) {
        options.evictionPolicy = evictionPolicy;
        return this;
    }

    /** Where blocks are kept on an SSD beyond memory, and over restarts; nowhere by default. */
    public MooncakePluginProvider setSsd(@Nullable SsdTier ssd) {
        options.ssd = ssd;
        return this;
    }

    /**
     * Whether nodes of this machine may map this node's memory, where {@link #setSharedMemoryDirectory} has room for it. Default: as the
     * protocol uses it.
     */
    public MooncakePluginProvider setSharedMemory(boolean sharedMemory) {
        options.sharedMemory = sharedMemory;
        return this;
    }

    /** Where the memory lies that nodes of this machine may map: /dev/shm unless set, or a mount of hugetlbfs. */
    public MooncakePluginProvider setSharedMemoryDirectory(@Nullable String sharedMemoryDirectory) {
        options.sharedMemoryDirectory = sharedMemoryDirectory;
        return this;
    }

    /** What else lives in the node, for example models, in starting order. */
    public MooncakePluginProvider setExtensions(@Nullable List<? extends NodeExtension> extensions) {
        options.extensions = extensions;
        return this;
    }

    /** Pools that no extension brings. */
    public MooncakePluginProvider setPools(@Nullable List<PoolBean> pools) {
        options.pools = pools;
        return this;
    }

    /** Address to bind where the plugin owns the engine; Ignite's localHost by default. */
    public MooncakePluginProvider setHost(@Nullable String host) {
        options.host = host;
        return this;
    }

    /** First port tried where the plugin owns the engine; 47700 by default. */
    public MooncakePluginProvider setPortFrom(int portFrom) {
        options.portFrom = portFrom;
        return this;
    }

    /** Last port tried where the plugin owns the engine; 47899 by default. */
    public MooncakePluginProvider setPortTo(int portTo) {
        options.portTo = portTo;
        return this;
    }

    /** Address that peers connect to; by default what Ignite's address resolver says of {@code host}, else {@code host}. */
    public MooncakePluginProvider setAdvertisedHost(@Nullable String advertisedHost) {
        options.advertisedHost = advertisedHost;
        return this;
    }

    /** Ways that the engine's own requests take: auto, tcp, shm or rdma; auto by default. */
    public MooncakePluginProvider setTransferProtocol(@Nullable String transferProtocol) {
        options.transferProtocol = transferProtocol;
        return this;
    }

    /** Data connections to each peer and rail; 2 by default. */
    public MooncakePluginProvider setConnectionsPerPeer(int connectionsPerPeer) {
        options.connectionsPerPeer = connectionsPerPeer;
        return this;
    }

    /** Addresses of further network interfaces that carry data, at most 7; none by default. */
    public MooncakePluginProvider setRails(String @Nullable ... rails) {
        options.rails = rails == null ? null : Arrays.asList(rails);
        return this;
    }

    /** Names of the RDMA devices, separated by commas; all whose port is active by default. */
    public MooncakePluginProvider setRdmaDevice(@Nullable String rdmaDevice) {
        options.rdmaDevice = rdmaDevice;
        return this;
    }

    /** Port of the RDMA device; 1 by default. */
    public MooncakePluginProvider setRdmaPort(int rdmaPort) {
        options.rdmaPort = rdmaPort;
        return this;
    }

    /** Entry in the table of global identifiers of that port; -1, the default, chooses by rule. */
    public MooncakePluginProvider setRdmaGidIndex(int rdmaGidIndex) {
        options.rdmaGidIndex = rdmaGidIndex;
        return this;
    }

    /** PKCS 12 file with the node's key: turns mutual TLS on between engines; none by default. */
    public MooncakePluginProvider setTlsKeyStore(@Nullable String tlsKeyStore) {
        options.tlsKeyStore = tlsKeyStore;
        return this;
    }

    /** Password of {@link #setTlsKeyStore}. */
    public MooncakePluginProvider setTlsKeyStorePassword(@Nullable String tlsKeyStorePassword) {
        options.tlsKeyStorePassword = tlsKeyStorePassword;
        return this;
    }

    /** PKCS 12 file with the certificates that are believed. */
    public MooncakePluginProvider setTlsTrustStore(@Nullable String tlsTrustStore) {
        options.tlsTrustStore = tlsTrustStore;
        return this;
    }

    /** Password of {@link #setTlsTrustStore}. */
    public MooncakePluginProvider setTlsTrustStorePassword(@Nullable String tlsTrustStorePassword) {
        options.tlsTrustStorePassword = tlsTrustStorePassword;
        return this;
    }

    /** How long a fetch leases blocks of a peer; 10,000 ms by default. */
    public MooncakePluginProvider setLeaseMillis(long leaseMillis) {
        options.leaseMillis = leaseMillis;
        return this;
    }

    /** Most time that one look-up spends on fetching; 2,000 ms by default. */
    public MooncakePluginProvider setFetchTimeoutMillis(long fetchTimeoutMillis) {
        options.fetchTimeoutMillis = fetchTimeoutMillis;
        return this;
    }

    /** Interval of the feed's heartbeats, 50..2,000 ms; 1,000 by default. */
    public MooncakePluginProvider setHeartbeatMillis(long heartbeatMillis) {
        options.heartbeatMillis = heartbeatMillis;
        return this;
    }

    /** Most rows that this node keeps in the SQL mirror; 100,000 by default: some three million blocks. */
    public MooncakePluginProvider setMirrorRowBudget(int mirrorRowBudget) {
        options.mirrorRowBudget = mirrorRowBudget;
        return this;
    }

    /** Most rows that the cluster keeps of pins, replica intents, quotas and pools; 10,000 by default. */
    public MooncakePluginProvider setStateRowBudget(int stateRowBudget) {
        options.stateRowBudget = stateRowBudget;
        return this;
    }

    /** Copies of each block that the cluster keeps, on as many nodes as there are, 1..8; 1 by default. */
    public MooncakePluginProvider setReplicas(int replicas) {
        options.replicas = replicas;
        return this;
    }

    /** How long a stopping node gives what only it has to others, 0 for not at all; 5,000 ms by default. */
    public MooncakePluginProvider setDrainOnStopTimeoutMillis(long drainOnStopTimeoutMillis) {
        options.drainOnStopTimeoutMillis = drainOnStopTimeoutMillis;
        return this;
    }

    /** Share of its pools that a starting node fills with what its peers use most, 0..0.9; 0 by default. */
    public MooncakePluginProvider setWarmUpShare(double warmUpShare) {
        options.warmUpShare = warmUpShare;
        return this;
    }

    /** Most blocks of other nodes that this node knows of, in each pool; 4,194,304 by default, some 190 MB a pool when all are known. */
    public MooncakePluginProvider setIndexEntries(int indexEntries) {
        options.indexEntries = indexEntries;
        return this;
    }

    /** Most token ids of other nodes' blocks that this node remembers, in each of its pools in FAST mode, to find parts of blocks; 16,777,216 by default. */
    public MooncakePluginProvider setIndexTokens(int indexTokens) {
        options.indexTokens = indexTokens;
        return this;
    }

    /** Off the heap, for the last events of this node's pools, from which others repair what they missed; 16MiB by default. */
    public MooncakePluginProvider setFeedRing(@Nullable String feedRing) {
        options.feedRing = feedRing;
        return this;
    }

    /** Address on which metrics are shown to Prometheus; the loopback by default. Nobody is authenticated there. */
    public MooncakePluginProvider setMetricsHost(@Nullable String metricsHost) {
        options.metricsHost = metricsHost;
        return this;
    }

    /** Port on which metrics are shown to Prometheus; 0, the default: none. */
    public MooncakePluginProvider setMetricsPort(int metricsPort) {
        options.metricsPort = metricsPort;
        return this;
    }

    /**
     * Classes of yours that may be in jobs, their answers and their failures: {@code com.acme.Job,com.acme.kv.**}, or {@code file:PATH} with one a line. Empty by
     * default: values of the JDK and this product's own.
     */
    public MooncakePluginProvider setJobClasses(@Nullable String jobClasses) {
        options.jobClasses = jobClasses;
        return this;
    }

    /** Says whose blocks a thin client, a JDBC client or a gateway's caller sees; none by default: everybody's are the default tenant's. */
    public MooncakePluginProvider setTenantResolver(@Nullable TenantResolver tenantResolver) {
        options.tenantResolver = tenantResolver;
        return this;
    }

    /** Logins that see the figures of all tenants, where Ignite authenticates; its own first user {@code ignite} by default. */
    public MooncakePluginProvider setOperators(String @Nullable ... operators) {
        options.operators = operators == null ? null : Arrays.asList(operators);
        return this;
    }

    /**
     * Checks all that the start of a node checks, without starting anything: for launchers that refuse early.
     *
     * @param configuration the configuration this bean is part of
     * @throws MooncakeException CONFIGURATION that lists every violation
     */
    public void validate(IgniteConfiguration configuration) {
        SettingsReader.read(options, configuration);
    }

    @Override
    public String name() {
        return Mooncake.PLUGIN_NAME;
    }

    @Override
    public String version() {
        String version = MooncakePluginProvider.class.getPackage().getImplementationVersion();
        return version == null ? "development" : version;
    }

    @Override
    public String copyright() {
        return "Mooncake for Apache Ignite, Apache License 2.0";
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T extends IgnitePlugin> T plugin() {
        NodeRuntime running = runtime;
        if (running == null) {
            throw new MooncakeException(
                    MooncakeException.Code.ILLEGAL_STATE, "plugin mooncake: not started (expected: a started node)");
        }
        return (T) running.mooncake();
    }

    @Override
    public void initExtensions(PluginContext context, ExtensionRegistry registry) throws IgniteCheckedException {
        try {
            MooncakeSettings settings = SettingsReader.read(options, context.igniteConfiguration());
            NodeRuntime made =
                    new NodeRuntime(context.grid(), context.igniteConfiguration(), settings, NodeParts.create());
            runtime = made;
            made.initExtensions();
        } catch (MooncakeException e) {
            throw new IgniteCheckedException(e.getMessage(), e);
        }
    }

    @Override
    public void start(PluginContext context) throws IgniteCheckedException {
        NodeRuntime running = runtime;
        if (running == null) {
            return;
        }
        try {
            running.start();
        } catch (MooncakeException e) {
            running.stop();
            throw new IgniteCheckedException(e.getMessage(), e);
        }
    }

    @Override
    public void onIgniteStart() throws IgniteCheckedException {
        NodeRuntime running = runtime;
        if (running == null) {
            return;
        }
        try {
            running.onIgniteStart();
        } catch (MooncakeException e) {
            throw new IgniteCheckedException(e.getMessage(), e);
        }
    }

    @Override
    public void onIgniteStop(boolean cancel) {
        NodeRuntime running = runtime;
        if (running != null) {
            running.onIgniteStop();
        }
    }

    @Override
    public void stop(boolean cancel) {
        NodeRuntime running = runtime;
        if (running != null) {
            running.stop();
        }
    }

    @Override
    public void validateNewNode(ClusterNode node) {
        NodeRuntime running = runtime;
        if (running != null) {
            running.refusal(node).ifPresent(reason -> {
                throw new PluginValidationException(reason, reason, node.id());
            });
        }
    }

    @Override
    public void validateNewNode(ClusterNode node, @Nullable Serializable data) {
        validateNewNode(node);
    }

    /** Nothing: attributes say it all, and nodes without our jars would warn about data they cannot read. */
    @Override
    @SuppressWarnings("NullAway") // Ignite takes null for "none".
    public Serializable provideDiscoveryData(UUID nodeId) {
        return null;
    }

    @Override
    public void receiveDiscoveryData(UUID nodeId, Serializable data) {}

    @Override
    @SuppressWarnings("NullAway") // Ignite takes null for "no such component".
    public <T> T createComponent(PluginContext context, Class<T> type) {
        return null;
    }

    @Override
    @SuppressWarnings({"NullAway", "rawtypes"}) // Ignite takes null for "no cache plugin".
    public CachePluginProvider createCacheProvider(CachePluginContext context) {
        return null;
    }
}
