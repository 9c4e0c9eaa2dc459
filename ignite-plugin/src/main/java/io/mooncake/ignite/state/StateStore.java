// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the cluster must remember: pins, replica intents, quotas and the pools it has seen. The rows lie in cache {@code mooncake.state} on
 * the storing nodes, two copies each, on disk where the default data region is; every node has a copy of all of them in its heap, read again
 * each second (a millisecond more a row), and at once after the cluster's state changed, nodes were lost or a client came back. What this node writes is seen by its reads at once.
 *
 * <p>Threading: {@link #pins} and the other tables are for all threads. The copy is looked after every {@value #TICK_MILLIS} ms by one
 * worker thread at a time; fields marked so are written there only.
 */
public final class StateStore implements NodeComponent, Members.Listener {
    static final String REGION = "mooncake.state";
    private static final Duration FENCE_PATIENCE = Duration.ofSeconds(1);
    private static final long FENCE_LOOK_NANOS = 10_000_000;
    private static final long BYTES_PER_ROW = 2_048;
    private static final long MIN_REGION_BYTES = 32L << 20;
    private static final long TICK_MILLIS = 500;
    /** Rows are read again after a second, and a millisecond more a row. */
    private static final long READ_AGAIN_MILLIS = 1_000;

    private static final long DEFINE_MILLIS = 5_000;
    private static final Logger LOG = LoggerFactory.getLogger(StateStore.class);

    private final StateView view = new StateView();
    private final AtomicLong writes = new AtomicLong();
    private final AtomicLong conflicts = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();
    private volatile @Nullable NodeServices services;
    private volatile @Nullable CacheRegion region;
    private volatile @Nullable StateCache cache;
    private volatile boolean stale = true;
    private volatile boolean stopped;
    // Below: by ticks only.
    private @Nullable ClusterState lastState;
    private @Nullable UUID lastNode;
    private long readNanos;

    /** Prefixes that must not leave memory. */
    public StateTable<StateRow.Pin> pins() {
        return new StateTable<>(this, StateRow.Pin.class, Optional.empty());
    }

    /** How many nodes should hold which prefix. */
    public StateTable<StateRow.ReplicaIntent> replicas() {
        return new StateTable<>(this, StateRow.ReplicaIntent.class, Optional.empty());
    }

    /** What tenants may take. */
    public StateTable<StateRow.Quota> quotas() {
        return new StateTable<>(this, StateRow.Quota.class, Optional.empty());
    }

    /** Pools that storing nodes have or had. */
    public StateTable<StateRow.KnownPool> pools() {
        return new StateTable<>(this, StateRow.KnownPool.class, Optional.empty());
    }

    /** Hears of changes of any kind. Rows that are known already are not told. */
    public void addListener(StateListener listener) {
        view.addListener(listener);
    }

    @Override
    public void initExtensions(NodeServices node, IgniteConfiguration config) {
        int budget = node.settings().stateRowBudget();
        DataStorageConfiguration storage = config.getDataStorageConfiguration();
        boolean persistent =
                storage != null && storage.getDefaultDataRegionConfiguration().isPersistenceEnabled();
        long least = budget * BYTES_PER_ROW;
        CacheRegion made = new CacheRegion(REGION, least, Math.max(MIN_REGION_BYTES, least), persistent, false);
        region = made;
        if (isStore(node) && !config.isClientMode()) {
            made.install(config);
        }
    }

    @Override
    public void start(NodeServices node) {
        services = node;
        var adapter = node.adapter();
        String registry = "mooncake.state";
        adapter.registerMetric(registry, "rows", "Rows of the state that this node knows.", () -> (long) view.size());
        adapter.registerMetric(registry, "writes", "Rows written or removed by this node.", writes::get);
        adapter.registerMetric(
                registry,
                "conflicts",
                "Writes that came second: the row had changed since it was read.",
                conflicts::get);
        adapter.registerMetric(
                registry,
                "refused",
                "Writes refused: the cluster takes none, the writer has left, or there is no room.",
                refused::get);
        adapter.registerMetric(registry, "failures", "Attempts to read the state that failed.", failures::get);
        adapter.registerMetric(
                registry,
                "stale",
                "1 while this node does not follow the state: no cluster, inactive, or no storing node.",
                () -> stale ? 1L : 0L);
        node.members().addListener(this);
    }

    @Override
    public void onIgniteStart(NodeServices node) {
        later(node, 0);
    }

    @Override
    public void onIgniteStop() {
        stopped = true;
    }

    @Override
    public void onLeft(Member member) {
        stale = true;
    }

    private static boolean isStore(NodeServices node) {
        return node.settings().role() == Role.STORE;
    }

    private void later(NodeServices node, long millis) {
        if (stopped) {
            return;
        }
        try {
            node.scheduler().schedule(() -> node.workers().execute(() -> run(node)), millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("State: the node stops");
        }
    }

    private void run(NodeServices node) {
        if (stopped) {
            return;
        }
        try {
            tick(node);
        } catch (RuntimeException e) {
            stale = true;
            cache = null;
            if (!stopped && failures.getAndIncrement() == 0) {
                LOG.info(
                        "State: could not be read and will be tried again ({}); see metric mooncake.state.failures",
                        e.toString());
            }
        }
        later(node, TICK_MILLIS);
    }

    private void tick(NodeServices node) {
        if (node.adapter().disconnected()) {
            stale = true;
            cache = null;
            return;
        }
        ClusterState state = node.ignite().cluster().state();
        UUID self = node.adapter().localNodeId();
        if (state != lastState || !self.equals(lastNode)) {
            lastState = state;
            lastNode = self;
            stale = true;
            cache = null;
        }
        if (!state.active()) {
            return;
        }
        if (cache == null) {
            cache = StateCache.open(node.ignite(), isStore(node) && state == ClusterState.ACTIVE)
                    .orElse(null);
        }
        StateCache open = cache;
        if (open == null) {
            return;
        }
        if (stale || due(node)) {
            read(open, node);
        }
        if (state == ClusterState.ACTIVE && isStore(node)) {
            define(node);
        }
    }

    private boolean due(NodeServices node) {
        long after = TimeUnit.MILLISECONDS.toNanos(READ_AGAIN_MILLIS + view.size());
        return node.nanoClock().getAsLong() - readNanos >= after;
    }

    private void read(StateCache open, NodeServices node) {
        // A loss while the rows are read makes the next tick read them again.
        stale = false;
        try {
            open.scan(view.begin());
            readNanos = node.nanoClock().getAsLong();
        } catch (RuntimeException e) {
            stale = true;
            throw e;
        }
    }

    /** Remembers this node's pools. */
    private void define(NodeServices node) {
        node.poolDefinitions().forEach(pool -> {
            StateRow.KnownPool row = KnownPools.row(pool);
            if (view.find(row.key()) == null) {
                try {
                    pools().putIfAbsent(row, Deadline.ofMillis(DEFINE_MILLIS));
                } catch (MooncakeException e) {
                    LOG.debug("State: pool {} is not remembered yet", pool.name(), e);
                }
            }
        });
    }

    StateView view() {
        return view;
    }

    /** What the cluster has under {@code key} now; null for nothing. */
    @Nullable
    Versioned<?> read(String key, Deadline deadline) {
        return writable(Optional.empty(), deadline).read(key, deadline).orElse(null);
    }

    /** See {@link StateTable}. */
    <T extends StateRow> Optional<Versioned<T>> write(
            Optional<Versioned<T>> known, T row, Optional<UUID> writer, Deadline deadline) {
        NodeServices node = running();
        StateCache open = writable(writer, deadline);
        if (known.isPresent() && !known.get().row().key().equals(row.key())) {
            throw MooncakeException.invalid("row", row.key(), known.get().row().key() + ", which it replaces");
        }
        if (known.isEmpty()) {
            checkRoom(node);
        }
        Versioned<T> next = new Versioned<>(
                row,
                known.map(Versioned::version).orElse(0L) + 1,
                node.adapter().localNodeId(),
                writer.orElseGet(() -> node.engine().incarnation()));
        if (!open.write(known, next, deadline)) {
            conflicts.incrementAndGet();
            return Optional.empty();
        }
        writes.incrementAndGet();
        view.wrote(next);
        return Optional.of(next);
    }

    /** See {@link StateTable}. */
    boolean remove(Versioned<?> known, Optional<UUID> writer, Deadline deadline) {
        if (!writable(writer, deadline).remove(known, deadline)) {
            conflicts.incrementAndGet();
            return false;
        }
        writes.incrementAndGet();
        view.removed(known);
        return true;
    }

    /** The cache, if the cluster takes writes of {@code writer}, or of this node. */
    private StateCache writable(Optional<UUID> writer, Deadline deadline) {
        NodeServices node = running();
        if (node.adapter().disconnected()) {
            throw refuse(MooncakeException.Code.ILLEGAL_STATE, "cluster: disconnected (expected: a connected node)");
        }
        awaitUnfenced(node, deadline.atMost(FENCE_PATIENCE));
        if (node.fenced()) {
            throw refuse(
                    MooncakeException.Code.STALE, "writer: this node (expected: one that knows that it is a member)");
        }
        UUID incarnation = writer.orElseGet(() -> node.engine().incarnation());
        if (!node.members().hasEngine(incarnation)) {
            throw refuse(
                    MooncakeException.Code.STALE,
                    "writer: " + incarnation + " (expected: a life that is in the topology)");
        }
        ClusterState state = node.ignite().cluster().state();
        StateCache open = cache;
        if (state != ClusterState.ACTIVE) {
            throw refuse(MooncakeException.Code.ILLEGAL_STATE, "cluster state: " + state + " (expected: ACTIVE)");
        }
        if (open == null) {
            throw refuse(
                    MooncakeException.Code.ILLEGAL_STATE,
                    "cache " + StateCache.CACHE + ": not there yet (expected: a storing node in an active cluster)");
        }
        return open;
    }

    /** A node that merely stood still knows in a moment that it is a member. */
    private static void awaitUnfenced(NodeServices node, Deadline deadline) {
        try {
            while (node.fenced() && !deadline.expired()) {
                node.waits().pause(FENCE_LOOK_NANOS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void checkRoom(NodeServices node) {
        int budget = node.settings().stateRowBudget();
        if (view.size() >= budget) {
            throw refuse(
                    MooncakeException.Code.EXHAUSTED,
                    "stateRowBudget: " + view.size() + " rows are there (expected: less than " + budget + ")");
        }
        CacheRegion here = Objects.requireNonNull(region);
        if (here.full(node.ignite())) {
            throw refuse(
                    MooncakeException.Code.EXHAUSTED,
                    "data region '" + here.name() + "': used to " + here.usedPercent(node.ignite())
                            + " % (expected: less than " + CacheRegion.STOP_PERCENT + " %)");
        }
    }

    private MooncakeException refuse(MooncakeException.Code code, String message) {
        refused.incrementAndGet();
        return new MooncakeException(code, message);
    }

    private NodeServices running() {
        NodeServices node = services;
        if (node == null || stopped) {
            throw new MooncakeException(
                    MooncakeException.Code.ILLEGAL_STATE, "state: not running (expected: a started node)");
        }
        return node;
    }
}
