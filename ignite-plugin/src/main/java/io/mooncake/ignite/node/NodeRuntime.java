// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.adapter.IgniteAdapter;
import io.mooncake.ignite.config.MemoryPlan;
import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.feed.BlockEventListener;
import io.mooncake.ignite.feed.FeedService;
import io.mooncake.ignite.feed.FeedThread;
import io.mooncake.ignite.feed.FollowedOwner;
import io.mooncake.ignite.index.ClusterIndex;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.internal.Placement;
import io.mooncake.ignite.internal.RequestRouter;
import io.mooncake.ignite.life.LifeWatch;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.ignite.pool.FetchListener;
import io.mooncake.ignite.security.RestModule;
import io.mooncake.ignite.state.StateStore;
import io.mooncake.ignite.tenant.Tenants;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import io.mooncake.transfer.TransferEngine;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plugin's life on one node. The steps are Ignite's: {@link #initExtensions} before anything runs, {@link #start} before the join,
 * {@link #onIgniteStart} after it, {@link #onIgniteStop} and {@link #stop} at the end. A refused or failed start gets the last two without
 * the ones before, so both work after any step, and twice.
 *
 * <p>Threading: the steps come from Ignite's starting and stopping threads, one at a time; what they bring up is published by volatile
 * fields and read by all.
 */
public final class NodeRuntime implements NodeServices {
    private static final Logger LOG = LoggerFactory.getLogger(NodeRuntime.class);

    private final Ignite ignite;
    private final IgniteConfiguration config;
    private final MooncakeSettings settings;
    private final List<NodeComponent> components;
    private final IgniteAdapter adapter;
    private final MemberTracker members;
    private final ClusterIndexes indexes;
    private final NodeThreads threads;
    private final ExtensionRunner extensions;
    private final Mooncake mooncake = new MooncakeNode(this);
    private final NodePools pools;
    private final Tenants tenants;
    private final BooleanSupplier fenced;

    private volatile @Nullable EngineOwner engineOwner;
    private volatile @Nullable FeedService feed;
    private volatile boolean stopping;

    /**
     * @param components parts that live with the node
     */
    public NodeRuntime(
            Ignite ignite, IgniteConfiguration config, MooncakeSettings settings, List<NodeComponent> components) {
        this.ignite = ignite;
        this.config = config;
        this.settings = settings;
        this.components = List.copyOf(components);
        this.fenced = components.stream()
                .filter(LifeWatch.class::isInstance)
                .map(LifeWatch.class::cast)
                .findFirst()
                .<BooleanSupplier>map(watch -> watch::fenced)
                .orElse(() -> false);
        this.adapter = new IgniteAdapter(ignite);
        this.members = new MemberTracker(adapter, NodeAttributes.pools(settings));
        this.indexes = new ClusterIndexes(members, settings.indexEntries(), settings.indexTokens());
        this.threads = new NodeThreads(nodeName(config));
        this.pools = new NodePools(settings, ownName(), indexes, nanoClock());
        this.tenants = new Tenants(settings.secret(), settings.tenantResolver(), settings.operators());
        this.extensions = new ExtensionRunner(settings.extensions(), threads.scheduler());
    }

    /** Lets the parts change Ignite's configuration. */
    public void initExtensions() {
        LOG.info("Mooncake on node {}: {}", nodeName(config), settings);
        RestModule.risk(NodeRuntime.class.getResource(RestModule.CLASS))
                .ifPresent(risk -> LOG.warn("Ignite's REST module on node {}: {}", nodeName(config), risk));
        for (NodeComponent component : components) {
            component.initExtensions(this, config);
        }
        // Again, because parts may have added regions.
        MemoryPlan plan = MemoryPlan.of(config, settings.memoryPlan().own());
        LOG.info("Mooncake's memory plan: {}", plan);
        if (!plan.fits()) {
            refuse("memory plan: " + plan + " (expected: a sum within the machine or container)");
        }
    }

    /** Brings up engine, pools and feed, and publishes the attributes. */
    public void start() {
        if (settings.tenantResolver() != null && !adapter.authenticates()) {
            LOG.warn(
                    "tenantResolver: set in a cluster that authenticates nobody: callers are told apart by API keys alone,"
                            + " and figures and views are everybody's (expected: authenticationEnabled, or a security plugin)");
        }
        EngineOwner owner = EngineOwner.of(config, settings);
        engineOwner = owner;
        TransferEngine engine = owner.engine();
        boolean announces = settings.role() == Role.STORE;
        FeedService running = new FeedService(
                engine.control(),
                engine.incarnation(),
                settings.pools().stream().map(PoolDefinition::name).toList(),
                announces,
                settings.heartbeat(),
                settings.feedRingBytes(),
                nanoClock(),
                FeedThread.start("mooncake-feed-" + nodeName(config)));
        running.fencedBy(fenced);
        feed = running;
        if (settings.dramBytes() > 0 && !settings.pools().isEmpty()) {
            pools.start(engine, running, announces, fenced, threads.scheduler());
        }
        members.addListener(new FeedMembers(engine, running, indexes, members, threads.workers()));
        running.start();
        for (NodeComponent component : components) {
            component.start(this);
        }
        boolean client = Boolean.TRUE.equals(config.isClientMode());
        NodeAttributes.of(settings, owner.endpoint(), client).forEach(adapter::addNodeAttribute);
        LOG.info(
                "Mooncake's engine, owned by {}, listens at {}",
                owner.owned() ? "the plugin" : "the communication SPI",
                owner.endpoint().encode());
    }

    /** The node has joined: checks the others, follows them, starts parts and extensions. */
    public void onIgniteStart() {
        JoinCheck check = new JoinCheck(settings, adapter.localNodeId());
        for (ClusterNode node : adapter.aliveNodes()) {
            if (!node.id().equals(adapter.localNodeId())) {
                check.refusal(node).ifPresent(NodeRuntime::refuse);
            }
        }
        adapter.onTopologyChange(this::topologyChanged);
        members.refresh();
        for (NodeComponent component : components) {
            component.onIgniteStart(this);
        }
        extensions.start(mooncake);
    }

    private static void refuse(String reason) {
        throw new MooncakeException(MooncakeException.Code.CONFIGURATION, reason);
    }

    /** Why {@code node} may not join; empty when it may. */
    public Optional<String> refusal(ClusterNode node) {
        return new JoinCheck(settings, adapter.localNodeId()).refusal(node);
    }

    /** Extensions first, then parts, backwards. */
    public void onIgniteStop() {
        stopping = true;
        extensions.stop();
        for (int i = components.size() - 1; i >= 0; i--) {
            try {
                components.get(i).onIgniteStop();
            } catch (RuntimeException e) {
                LOG.warn("A part of the node failed to stop", e);
            }
        }
    }

    /** Everything else. */
    public void stop() {
        onIgniteStop();
        quietly("listeners and metrics", adapter);
        quietly("feed", feed);
        quietly("pools", pools);
        quietly("engine", engineOwner);
        quietly("threads", threads);
        feed = null;
        engineOwner = null;
    }

    private static void quietly(String what, @Nullable AutoCloseable closing) {
        try {
            if (closing != null) {
                closing.close();
            }
        } catch (Exception e) {
            LOG.warn("Stopping the node's {} failed", what, e);
        }
    }

    private void topologyChanged() {
        if (!stopping) {
            members.refresh();
        }
    }

    /** What the node is called after a restart, too: records on its SSD bear it. */
    private String ownName() {
        Object id = config.getConsistentId();
        return id == null ? nodeName(config) : id.toString();
    }

    private static String nodeName(IgniteConfiguration config) {
        String name = config.getIgniteInstanceName();
        return name == null ? "default" : name;
    }

    @Override
    public Map<String, ClusterKvPool> clusterPools() {
        return pools.inCluster();
    }

    ExtensionRunner extensions() {
        return extensions;
    }

    @Override
    public StateStore state() {
        return part(StateStore.class);
    }

    @Override
    public Tenants tenants() {
        return tenants;
    }

    @Override
    public boolean fenced() {
        return fenced.getAsBoolean();
    }

    @Override
    public Placement placement() {
        return part(Placement.class);
    }

    RequestRouter router() {
        return part(RequestRouter.class);
    }

    private <T> T part(Class<T> type) {
        return components.stream()
                .filter(type::isInstance)
                .map(type::cast)
                .findFirst()
                .orElseThrow(() -> new MooncakeException(
                        MooncakeException.Code.INTERNAL, "no " + type.getSimpleName() + " in this node"));
    }

    /** The feed, for figures. */
    FeedService feed() {
        return running(feed, "feed");
    }

    private static <T> T running(@Nullable T part, String what) {
        if (part == null) {
            throw new MooncakeException(
                    MooncakeException.Code.ILLEGAL_STATE, what + ": not running (expected: a started node)");
        }
        return part;
    }

    @Override
    public Ignite ignite() {
        return ignite;
    }

    @Override
    public Mooncake mooncake() {
        return mooncake;
    }

    @Override
    public MooncakeSettings settings() {
        return settings;
    }

    @Override
    public IgniteAdapter adapter() {
        return adapter;
    }

    @Override
    public TransferEngine engine() {
        return running(engineOwner, "engine").engine();
    }

    @Override
    public List<PoolDefinition> poolDefinitions() {
        return settings.pools();
    }

    @Override
    public Optional<KvIdentity> identityOf(String pool) {
        PoolIndex index = indexes.find(pool);
        return index == null
                ? settings.pools().stream()
                        .filter(definition -> definition.name().equals(pool))
                        .map(PoolDefinition::identity)
                        .findFirst()
                : Optional.of(index.identity());
    }

    @Override
    public Map<String, LocalKvPool> localPools() {
        return pools.byName();
    }

    @Override
    public Map<String, SsdTier> tiers() {
        return pools.tiers();
    }

    @Override
    public ClusterIndex index() {
        return indexes;
    }

    @Override
    public Members members() {
        return members;
    }

    @Override
    public Optional<FollowedOwner> followed(UUID nodeId) {
        return running(feed, "feed").followed(nodeId);
    }

    @Override
    public void addBlockListener(BlockEventListener listener) {
        running(feed, "feed").addListener(listener);
    }

    @Override
    public void addFetchListener(FetchListener listener) {
        pools.addFetchListener(listener);
    }

    @Override
    public ScheduledExecutorService scheduler() {
        return threads.scheduler();
    }

    @Override
    public Executor workers() {
        return threads.workers();
    }

    @Override
    public LongSupplier nanoClock() {
        return System::nanoTime;
    }
}
