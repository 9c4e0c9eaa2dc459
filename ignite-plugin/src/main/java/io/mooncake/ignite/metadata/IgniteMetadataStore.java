// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.adapter.IgniteAdapter;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataListener;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.MetadataStatus;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataSubscription;
import io.mooncake.transfer.metadata.internal.EventThread;
import io.mooncake.transfer.metadata.internal.OwnRecords;
import io.mooncake.transfer.metadata.internal.RecordTable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgniteBiPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Metadata within Ignite, without a cache: it works while the cluster is inactive, read-only or short of partitions.
 *
 * <p><b>Engines</b> of nodes are what Ignite's topology says: each node that publishes an endpoint attribute has a record {@code engine/INCARNATION}, owned by
 * the node's id, with version 0; nobody puts it and nobody can remove it but the end of the node. A node's lease is its membership.
 *
 * <p><b>What is put</b> stays with its node and is told to all others by Ignite's ordered messages: a number for each change, a snapshot for
 * whoever is new or missed one, a digest now and then so that also the loss of the last change is noticed. It goes when its node leaves. A
 * put counts as done when it was sent to all nodes alive. To {@code register} the node's own engine adds attributes to what the topology says.
 *
 * <p><b>Outage</b> is a client node's disconnection.
 *
 * <p>Threading: one thread ({@code worker}) takes frames and topology changes, publishes, and holds {@code peers} and {@code engines}; Ignite's threads only
 * hand over.
 */
final class IgniteMetadataStore implements MetadataStore {
    private static final Logger LOG = LoggerFactory.getLogger(IgniteMetadataStore.class);
    private static final String TOPIC = "mooncake.metadata/";
    private static final long TICK_MILLIS = 500;
    private static final int DIGEST_TICKS = 10;
    private static final int SNAPSHOT_PART_BYTES = 256 << 10;
    private static final int MAX_PENDING = 256;

    private final Ignite ignite;
    private final IgniteAdapter adapter;
    private final UUID owner;
    private final String topic;
    private final OwnRecords own;
    private final EventThread events;
    private final RecordTable table;
    private final ScheduledThreadPoolExecutor worker;
    private final IgniteBiPredicate<UUID, Object> listener = this::received;

    // The worker alone.
    private final PeerRecords peers;
    private final Set<MetadataRecord> engines = new HashSet<>();
    private long sequence;
    private int ticks;
    /** The others were told that this store is gone: whatever they hear after that would bring its records back. */
    private boolean saidBye;

    // Written by the worker, read by all.
    private volatile boolean outage;
    private volatile long outages;
    private volatile boolean closed;

    IgniteMetadataStore(Ignite ignite, MetadataContext context) {
        this.ignite = ignite;
        this.adapter = new IgniteAdapter(ignite);
        this.owner = context.owner();
        this.topic = TOPIC + context.cluster();
        this.own = new OwnRecords(owner);
        this.events = new EventThread("mooncake-metadata-ignite-events");
        this.table = new RecordTable(owner, context.nanoClock(), events);
        this.peers = new PeerRecords(table);
        this.worker = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "mooncake-metadata-ignite");
            thread.setDaemon(true);
            return thread;
        });
        engines.addAll(TopologyEngines.of(adapter.aliveNodes()));
        table.resync(engines);
        ignite.message().localListen(topic, listener);
        adapter.onTopologyChange(() -> execute(this::topologyChanged));
        execute(() -> {
            topologyChanged();
            broadcast(hello());
        });
        worker.scheduleWithFixedDelay(guarded(this::tick), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void execute(Runnable task) {
        try {
            worker.execute(guarded(task));
        } catch (RejectedExecutionException e) {
            LOG.debug("Closed; nothing more is done");
        }
    }

    /** The worker outlives whatever Ignite throws at it. */
    private Runnable guarded(Runnable task) {
        return () -> {
            if (saidBye) {
                return;
            }
            try {
                task.run();
            } catch (RuntimeException e) {
                if (!closed) {
                    LOG.warn("Metadata within Ignite: {}", e.toString());
                }
            }
        };
    }

    // ---------------------------------------------------------------- the worker's tasks

    private boolean received(UUID node, Object message) {
        if (message instanceof byte[] bytes) {
            MetadataFrameDescriptor.decode(bytes)
                    .filter(frame -> !frame.owner().equals(owner))
                    .ifPresent(frame -> execute(() -> take(node, frame)));
        }
        return !closed;
    }

    private void take(UUID node, MetadataFrameDescriptor.Frame frame) {
        if (adapter.aliveNodes().stream().noneMatch(each -> each.id().equals(node))) {
            // Sent before it left, delivered after: nobody would ever take it back.
            return;
        }
        if (frame.type() == MetadataFrameDescriptor.Type.HELLO) {
            // Before a question back, so that the other need not ask again.
            sendSnapshot(node);
        }
        if (peers.take(node, frame)) {
            send(node, hello());
        }
    }

    private byte[] hello() {
        return MetadataFrameDescriptor.plain(MetadataFrameDescriptor.Type.HELLO, owner, sequence);
    }

    private void sendSnapshot(UUID node) {
        List<List<MetadataFrameDescriptor.Entry>> parts = new ArrayList<>();
        List<MetadataFrameDescriptor.Entry> part = new ArrayList<>();
        int bytes = 0;
        for (MetadataRecord record : own.all()) {
            MetadataFrameDescriptor.Entry entry = new MetadataFrameDescriptor.Entry(record, false);
            if (bytes > SNAPSHOT_PART_BYTES) {
                parts.add(part);
                part = new ArrayList<>();
                bytes = 0;
            }
            part.add(entry);
            bytes += MetadataFrameDescriptor.bytes(entry);
        }
        parts.add(part);
        for (int i = 0; i < parts.size(); i++) {
            send(node, MetadataFrameDescriptor.snapshot(owner, sequence, i, parts.size(), parts.get(i)));
        }
    }

    private void topologyChanged() {
        if (adapter.disconnected()) {
            if (!outage) {
                outage = true;
                outages++;
                table.outageBegins();
            }
            return;
        }
        if (outage) {
            returned();
        }
        Set<UUID> alive = new HashSet<>();
        adapter.aliveNodes().forEach(node -> alive.add(node.id()));
        peers.retain(alive::contains);
        Set<MetadataRecord> now = new HashSet<>(TopologyEngines.of(adapter.aliveNodes()));
        for (MetadataRecord engine : engines) {
            if (!now.contains(engine)) {
                table.drop(engine.key(), engine.owner());
            }
        }
        now.forEach(table::apply);
        engines.clear();
        engines.addAll(now);
    }

    /** This client node is back, under another id: to the others it is new, and what they did meanwhile is unknown. */
    private void returned() {
        outage = false;
        table.outageEnds();
        peers.clear();
        engines.clear();
        engines.addAll(TopologyEngines.of(adapter.aliveNodes()));
        table.resync(engines);
        broadcast(hello());
    }

    private void tick() {
        // Also finds a disconnection, of which Ignite tells with an exception and not with an event.
        topologyChanged();
        publish();
        table.dropOverdue();
        ticks++;
        if (ticks % DIGEST_TICKS == 0 && !outage && sequence > 0) {
            broadcast(MetadataFrameDescriptor.plain(MetadataFrameDescriptor.Type.DIGEST, owner, sequence));
        }
    }

    private void publish() {
        List<OwnRecords.Wish> pending = own.pending(MAX_PENDING);
        while (!pending.isEmpty() && !adapter.disconnected()) {
            for (OwnRecords.Wish wish : pending) {
                sequence++;
                broadcast(MetadataFrameDescriptor.change(owner, sequence, entry(wish)));
                own.confirm(wish);
            }
            pending = own.pending(MAX_PENDING);
        }
    }

    private MetadataFrameDescriptor.Entry entry(OwnRecords.Wish wish) {
        Optional<MetadataRecord> record = wish.record();
        return record.isPresent()
                ? new MetadataFrameDescriptor.Entry(record.get(), false)
                : new MetadataFrameDescriptor.Entry(
                        new MetadataRecord(wish.key(), owner, wish.version(), new byte[0]), true);
    }

    private void broadcast(byte[] frame) {
        // The local node, too: it may have more than one store.
        for (ClusterNode node : adapter.aliveNodes()) {
            send(node.id(), frame);
        }
    }

    /** What does not arrive is noticed by its number. */
    private void send(UUID node, byte[] frame) {
        try {
            ignite.message(ignite.cluster().forNodeId(node)).sendOrdered(topic, frame, 0);
        } catch (IgniteException | IllegalStateException e) {
            LOG.debug("Metadata not sent to {}: {}", node, e.toString());
        }
    }

    // ---------------------------------------------------------------- for users

    @Override
    public UUID owner() {
        return owner;
    }

    @Override
    public boolean put(String key, byte[] value, Deadline deadline) {
        OwnRecords.Wish wish = own.put(key, value, table::applyOwn);
        execute(this::publish);
        return own.await(wish, deadline);
    }

    @Override
    public boolean remove(String key, Deadline deadline) {
        OwnRecords.Wish wish = own.remove(key, table::dropOwn);
        execute(this::publish);
        return own.await(wish, deadline);
    }

    @Override
    public List<MetadataRecord> get(String key) {
        return table.get(key);
    }

    @Override
    public List<MetadataRecord> list(String prefix) {
        return table.list(prefix);
    }

    @Override
    public MetadataSubscription watch(String prefix, MetadataListener follower) {
        return table.watch(prefix, follower);
    }

    @Override
    public boolean awaitSynced(Deadline deadline) {
        return table.awaitSynced(deadline.remainingMillis());
    }

    @Override
    public MetadataStatus status() {
        MetadataStatus.State state = closed
                ? MetadataStatus.State.CLOSED
                : outage ? MetadataStatus.State.OUTAGE : MetadataStatus.State.SYNCED;
        return new MetadataStatus(
                state,
                outage ? "this client node is disconnected" : "",
                table.size(),
                own.unpublished(),
                table.resyncs(),
                0,
                outages);
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        own.close();
        adapter.close();
        CountDownLatch said = new CountDownLatch(1);
        execute(() -> {
            try {
                broadcast(MetadataFrameDescriptor.plain(MetadataFrameDescriptor.Type.BYE, owner, sequence));
            } finally {
                saidBye = true;
                said.countDown();
            }
        });
        try {
            if (!said.await(2, TimeUnit.SECONDS)) {
                LOG.info("The others are not told yet that this metadata store closes");
            }
            ignite.message().stopLocalListen(topic, listener);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IgniteException | IllegalStateException e) {
            LOG.debug("The node stopped first: {}", e.toString());
        }
        closed = true;
        // Not at once: who had no time to say it above says it when it is its turn. Nothing periodic runs any more.
        worker.shutdown();
        events.close();
    }
}
