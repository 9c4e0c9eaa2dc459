// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter;

import io.mooncake.ignite.Caller;
import io.mooncake.ignite.security.JobClasses;
import io.mooncake.ignite.security.JobReader;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.Ignition;
import org.apache.ignite.ShutdownPolicy;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.QueryEngineConfiguration;
import org.apache.ignite.events.EventType;
import org.apache.ignite.failure.FailureContext;
import org.apache.ignite.failure.FailureType;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.IgnitionEx;
import org.apache.ignite.internal.managers.eventstorage.DiscoveryEventListener;
import org.apache.ignite.internal.processors.query.QueryEngineConfigurationEx;
import org.apache.ignite.internal.processors.security.IgniteSecurity;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.plugin.IgnitePlugin;
import org.apache.ignite.plugin.PluginProvider;
import org.apache.ignite.plugin.security.SecuritySubject;
import org.apache.ignite.plugin.security.SecuritySubjectType;
import org.apache.ignite.plugin.segmentation.SegmentationPolicy;
import org.apache.ignite.spi.systemview.view.SystemViewRowAttributeWalker;
import org.jspecify.annotations.Nullable;

/**
 * Ignite's internals, as much as this product needs of them.
 *
 * <p>Threading: safe for all threads. {@link #close} takes back what was registered.
 */
public final class IgniteAdapter implements AutoCloseable {
    private static final int[] TOPOLOGY_EVENTS = {
        EventType.EVT_NODE_JOINED,
        EventType.EVT_NODE_LEFT,
        EventType.EVT_NODE_FAILED,
        EventType.EVT_CLIENT_NODE_RECONNECTED
    };

    private final GridKernalContext context;
    private final List<DiscoveryEventListener> listeners = new ArrayList<>();
    private final List<String> registries = new ArrayList<>();

    public IgniteAdapter(Ignite ignite) {
        this.context = ((IgniteEx) ignite).context();
    }

    /** Id of this life of the local node; known before it joins. */
    public UUID localNodeId() {
        return context.localNodeId();
    }

    /** Whether a SQL engine is on the class path. */
    public boolean sqlAvailable() {
        return context.query().moduleEnabled();
    }

    /** Names of the SQL engines of {@code ignite}, parted by commas: {@code h2}, {@code calcite}; or what to add where there is none. */
    public static String sqlEngines(Ignite ignite) {
        if (!((IgniteEx) ignite).context().query().moduleEnabled()) {
            return "none: add ignite-indexing or ignite-calcite";
        }
        QueryEngineConfiguration[] named =
                ignite.configuration().getSqlConfiguration().getQueryEnginesConfiguration();
        if (named == null || named.length == 0) {
            return "h2";
        }
        return Arrays.stream(named)
                .map(one -> one instanceof QueryEngineConfigurationEx ex ? ex.engineName() : one.toString())
                .collect(Collectors.joining(","));
    }

    /**
     * Who makes the call that this thread serves on {@code ignite}: code of a member, or a client's connection.
     *
     * @param kind what a client's connection is called
     * @param apiKey what the call carries
     */
    public static Caller caller(Ignite ignite, Caller.Kind kind, @Nullable String apiKey) {
        IgniteSecurity security = ((IgniteEx) ignite).context().security();
        if (!security.enabled()) {
            // Nobody is authenticated, so nobody can be told from a stranger.
            return new Caller(kind, null, apiKey, null);
        }
        if (security.isDefaultContext()) {
            return Caller.MEMBER_NODE;
        }
        SecuritySubject subject = security.securityContext().subject();
        if (subject.type() == SecuritySubjectType.REMOTE_NODE) {
            return Caller.MEMBER_NODE;
        }
        InetSocketAddress address = subject.address();
        // A client that is authenticated and has no name has no rights either.
        return new Caller(
                kind,
                subject.login() == null ? "" : subject.login().toString(),
                apiKey,
                address == null ? null : address.getHostString() + ":" + address.getPort());
    }

    /** Whether clients of this node must say who they are. */
    public boolean authenticates() {
        return context.security().enabled();
    }

    /** {@link #caller(Ignite, Caller.Kind, String)} of an SQL query on this node. */
    public Caller sqlCaller() {
        return caller(context.grid(), Caller.Kind.JDBC, null);
    }

    /**
     * Serialises by Java's rules, which take records and lambdas; Ignite's binary form does not take records.
     *
     * @throws IgniteCheckedException when {@code object} or something in it is not serialisable
     */
    public byte[] marshal(Object object) throws IgniteCheckedException {
        return context.marshallerContext().jdkMarshaller().marshal(object);
    }

    /**
     * Reads what {@link #marshal} wrote, classes of {@code allowed} from {@code loader}; Ignite's class filter applies besides.
     *
     * @throws io.mooncake.base.MooncakeException DENIED for a class that is not allowed
     * @throws IgniteCheckedException when a class is not to be had, or the bytes are no such object
     */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // The shape of Ignite's marshaller.
    public <T> T unmarshal(byte[] bytes, ClassLoader loader, JobClasses allowed) throws IgniteCheckedException {
        try {
            return (T) JobReader.read(
                    bytes,
                    allowed,
                    name -> U.forName(name, loader, context.marshallerContext().classNameFilter()));
        } catch (IOException | ClassNotFoundException e) {
            throw new IgniteCheckedException("job or answer of " + bytes.length + " bytes: " + e.getMessage(), e);
        }
    }

    /**
     * The plugin called {@code name} on {@code ignite}. Ignite's own call refuses while the cluster is inactive; a plugin that uses no cache
     * need not wait for that.
     *
     * @throws org.apache.ignite.plugin.PluginNotFoundException when it is not configured there
     */
    @SuppressWarnings("TypeParameterUnusedInFormals") // The shape of Ignite.plugin.
    public static <T extends IgnitePlugin> T plugin(Ignite ignite, String name) {
        if (ignite instanceof IgniteEx node) {
            PluginProvider<?> provider = node.context().pluginProvider(name);
            return provider.plugin();
        }
        return ignite.plugin(name);
    }

    /** Publishes a node attribute; only before the node joins. Values are JDK types, so that nodes without our jars can read them. */
    public void addNodeAttribute(String name, Object value) {
        context.addNodeAttribute(name, value);
    }

    /** Calls {@code changed} on Ignite's event thread after each join, loss or reconnection. It must not block. */
    public synchronized void onTopologyChange(Runnable changed) {
        DiscoveryEventListener listener = (event, cache) -> changed.run();
        context.event().addDiscoveryEventListener(listener, TOPOLOGY_EVENTS);
        listeners.add(listener);
    }

    /** Nodes alive now, the local one included, clients included. Empty before the node joined. */
    public Collection<ClusterNode> aliveNodes() {
        return context.discovery() == null ? List.of() : context.discovery().allNodes();
    }

    /**
     * Registers {@code SYS.NAME}.
     *
     * @param name with dots, for example {@code mooncake.blocks} for {@code SYS.MOONCAKE_BLOCKS}
     * @param rows rows for a filter by column name; the filter may be empty even when the query has one
     */
    public <R> void registerView(
            String name,
            String description,
            SystemViewRowAttributeWalker<R> walker,
            Function<Map<String, Object>, Iterable<R>> rows) {
        context.systemView().registerFiltrableView(name, description, walker, rows, row -> row);
    }

    /** Registers a whole number in metric registry {@code registry}. */
    public synchronized void registerMetric(String registry, String name, String description, LongSupplier value) {
        context.metric().registry(remember(registry)).register(name, value, description);
    }

    /** Registers a floating-point number in metric registry {@code registry}. */
    public synchronized void registerMetric(String registry, String name, String description, DoubleSupplier value) {
        context.metric().registry(remember(registry)).register(name, value, description);
    }

    private String remember(String registry) {
        if (!registries.contains(registry)) {
            registries.add(registry);
        }
        return registry;
    }

    /** Whether this is a client node that has lost its cluster and looks for it. */
    public boolean disconnected() {
        return context.clientDisconnected();
    }

    /** How long Ignite takes a node that does not answer for alive. */
    public Duration failureDetectionTime() {
        return Duration.ofMillis(context.config().getFailureDetectionTimeout());
    }

    /** Whether this node stops when it was cut from its cluster: a server does, unless its segmentation policy is NOOP. */
    public boolean stopsWhenCutOff() {
        return !context.clientNode() && context.config().getSegmentationPolicy() != SegmentationPolicy.NOOP;
    }

    /** Ends this life of the node as the segmentation policy says; returns at once. */
    public void leave(String reason) {
        Thread leaving = new Thread(
                () -> {
                    switch (context.config().getSegmentationPolicy()) {
                        case STOP ->
                            IgnitionEx.stop(context.igniteInstanceName(), true, ShutdownPolicy.IMMEDIATE, false);
                        case RESTART_JVM -> Ignition.restart(true);
                        case USE_FAILURE_HANDLER ->
                            context.failure()
                                    .process(new FailureContext(FailureType.SEGMENTATION, new IgniteException(reason)));
                        case NOOP -> {}
                    }
                },
                "mooncake-leave-" + context.igniteInstanceName());
        leaving.setDaemon(true);
        leaving.start();
    }

    /** Takes back listeners and metrics. Idempotent. */
    @Override
    public synchronized void close() {
        for (DiscoveryEventListener listener : listeners) {
            context.event().removeDiscoveryEventListener(listener, TOPOLOGY_EVENTS);
        }
        listeners.clear();
        for (String registry : registries) {
            context.metric().remove(registry);
        }
        registries.clear();
    }
}
