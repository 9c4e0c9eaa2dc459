// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.internal.Rendezvous;
import io.mooncake.ignite.state.StateRow.ReplicaIntent;
import io.mooncake.ignite.state.Versioned;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockListener;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.StoredBlock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps as many copies of each block as the node's option asks for, and of chains that {@code KvBlocks.keep} names as many as that says. What was stored is looked at some moments later, when the index knows the copies that
 * came about meanwhile; of the nodes that hold a block one decides, the one with the highest hash of block and node, so that not all of them add a copy.
 *
 * <p>Everything is looked at again, page by page, when a node comes or leaves, when this one stays after all, and once a minute: so nothing that was missed, dropped or
 * refused stays so.
 *
 * <p>Threading: {@code onStored} comes on storing threads and only notes down; one pass at a time on a worker.
 */
final class Replicas implements Members.Listener, AutoCloseable {
    private static final long TICK_MILLIS = 250;
    private static final int TICKS_A_WALK = 240;
    private static final int TICKS_AN_INTENT = 20;
    /** The index knows by then what was stored before. */
    private static final long SETTLE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private static final int MAX_WAITING = 65_536;
    /** A walk adds while fewer than these wait. */
    private static final int WALK_WAITING = 8_192;

    /** A copy that was evicted is not made again before, while nobody has room. */
    private static final long REST_NANOS = TimeUnit.MINUTES.toNanos(10);

    private static final int MAX_LOOKS = 20;
    private static final int BATCH_BLOCKS = 64;
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Logger LOG = LoggerFactory.getLogger(Replicas.class);

    private final NodeServices services;
    private final StoreReports reports;
    private final Copies copies;
    private final int wanted;
    private final Queue<Waiting> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicInteger size = new AtomicInteger();
    private final AtomicBoolean walkDue = new AtomicBoolean();
    private final AtomicBoolean intentsDue = new AtomicBoolean();
    private final AtomicBoolean running = new AtomicBoolean();
    private final Rests rests = new Rests(REST_NANOS);
    private volatile boolean closed;
    private @Nullable ScheduledFuture<?> timer;
    // The timer alone.
    private int ticks;
    // The pass alone: what the present walk has still to show, and where it is in the first of them.
    private final Deque<String> toWalk = new ArrayDeque<>();
    private int cursor;

    /**
     * @param copies nodes that should have it
     * @param decided whether this node decides about it, whatever the others think
     * @param tookNodes nodes that took it, of which the index may not have heard yet
     */
    private record Waiting(
            String pool,
            String tenant,
            BlockKey key,
            int depth,
            int copies,
            boolean decided,
            long sinceNanos,
            int looks,
            Set<UUID> tookNodes) {}

    /** What goes to one node together. */
    private record Group(String pool, String tenant, Set<UUID> holders, int copies) {}

    /** @param wanted copies of each block, this node's included; 1: only those that were asked for */
    Replicas(NodeServices services, StoreReports reports, Copies copies, int wanted) {
        this.services = services;
        this.reports = reports;
        this.copies = copies;
        this.wanted = wanted;
    }

    void start() {
        for (LocalKvPool pool : services.localPools().values()) {
            pool.addListener(new BlockListener() {
                @Override
                public void onStored(StoredBlock block) {
                    if (wanted > 1) {
                        add(pool.name(), block.tenant(), block.key(), block.depth());
                    }
                }

                @Override
                public void onRemoved(BlockKey key, long generation) {}
            });
        }
        services.members().addListener(this);
        timer = services.scheduler()
                .scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Looks at everything again. */
    void lookAtAll() {
        walkDue.set(true);
    }

    /** A copy may be lost, on whichever node it was. */
    @Override
    public void onLeft(Member member) {
        rests.clear();
        lookAtAll();
    }

    /** There may not have been enough nodes before. */
    @Override
    public void onJoined(Member member) {
        lookAtAll();
    }

    private void add(String pool, String tenant, BlockKey key, int depth) {
        add(pool, tenant, key, depth, wanted, false);
    }

    private void add(String pool, String tenant, BlockKey key, int depth, int copies, boolean decided) {
        long now = services.nanoClock().getAsLong();
        add(new Waiting(pool, tenant, key, depth, copies, decided, now, 0, Set.of()));
    }

    private void add(Waiting one) {
        if (size.incrementAndGet() > MAX_WAITING) {
            size.decrementAndGet();
            walkDue.set(true);
        } else {
            waiting.add(one);
        }
    }

    private void tick() {
        if (++ticks % TICKS_A_WALK == 0) {
            lookAtAll();
        }
        if (ticks % TICKS_AN_INTENT == 0) {
            intentsDue.set(true);
        }
        if (!closed && running.compareAndSet(false, true)) {
            services.workers().execute(() -> {
                try {
                    pass();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } catch (RuntimeException e) {
                    LOG.warn("Copies are not kept for the moment", e);
                } finally {
                    running.set(false);
                }
            });
        }
    }

    private void pass() throws InterruptedException {
        if (intentsDue.compareAndSet(true, false)) {
            intents();
        }
        walk();
        Map<Group, List<Waiting>> groups = new LinkedHashMap<>();
        long now = services.nanoClock().getAsLong();
        Waiting next = waiting.peek();
        while (next != null && now - next.sinceNanos() >= SETTLE_NANOS) {
            waiting.remove();
            size.decrementAndGet();
            look(next, groups);
            next = waiting.peek();
        }
        for (Map.Entry<Group, List<Waiting>> group : groups.entrySet()) {
            copy(group.getKey(), group.getValue());
        }
    }

    /** Chains of which the cluster wants more copies than of others: of the nodes that hold the last block one decides about all of the chain. */
    private void intents() {
        for (Versioned<ReplicaIntent> row : services.state().replicas().all()) {
            ReplicaIntent intent = row.row();
            LocalKvPool pool = services.localPools().get(intent.pool());
            if (pool != null
                    && size.get() < WALK_WAITING
                    && here(intent.pool(), intent.prefix())
                    && Rendezvous.wins(
                            intent.prefix(),
                            services.localNodeId(),
                            holders(intent.pool(), intent.prefix(), Set.of()))) {
                chain(pool, intent);
            }
        }
    }

    /** From the last block to the first, as far as memory has them. */
    private void chain(LocalKvPool pool, ReplicaIntent intent) {
        BlockKey key = intent.prefix();
        boolean more = true;
        while (more) {
            try (PinnedBlock block = pool.pin(key)) {
                if (block == null) {
                    return;
                }
                if (holders(intent.pool(), key, Set.of()).size() < intent.copies()) {
                    add(intent.pool(), intent.tenant(), key, block.depth(), intent.copies(), true);
                }
                key = block.parent();
                more = block.depth() > 0;
            }
        }
    }

    /** Goes on with the walk while there is room for what it finds. */
    private void walk() {
        if (toWalk.isEmpty() && walkDue.compareAndSet(true, false) && wanted > 1) {
            toWalk.addAll(services.localPools().keySet());
            cursor = 0;
        }
        while (!toWalk.isEmpty() && size.get() < WALK_WAITING && !closed) {
            String name = toWalk.peekFirst();
            if (!copies.possible(name, Set.of()) || reports.draining()) {
                cursor = LocalKvPool.WALK_END;
            } else {
                // A copy that was evicted because nobody used it is not made again at the cost of another.
                boolean room = copies.roomSomewhere(name);
                long now = services.nanoClock().getAsLong();
                cursor = Held.page(services, name, cursor, held -> {
                    if ((room || (held.hits() > 0 && !rests.rests(held.key(), now)))
                            && holders(name, held.key(), Set.of()).size() < wanted) {
                        add(name, held.tenant(), held.key(), held.depth());
                    }
                });
            }
            if (cursor == LocalKvPool.WALK_END) {
                toWalk.removeFirst();
                cursor = 0;
            }
        }
    }

    private void look(Waiting block, Map<Group, List<Waiting>> groups) {
        Set<UUID> holders = holders(block.pool(), block.key(), block.tookNodes());
        if (reports.draining()
                || holders.size() >= block.copies()
                || !here(block.pool(), block.key())
                || !copies.possible(block.pool(), holders)) {
            return;
        }
        if (block.decided() || decides(block.key(), holders)) {
            groups.computeIfAbsent(
                            new Group(block.pool(), block.tenant(), holders, block.copies()),
                            group -> new ArrayList<>())
                    .add(block);
        } else {
            again(block, block.tookNodes());
        }
    }

    /** Who decides may not know it yet, or may just have lost the block. */
    private void again(Waiting block, Set<UUID> tookNodes) {
        if (block.looks() < MAX_LOOKS) {
            long now = services.nanoClock().getAsLong();
            add(new Waiting(
                    block.pool(),
                    block.tenant(),
                    block.key(),
                    block.depth(),
                    block.copies(),
                    block.decided(),
                    now,
                    block.looks() + 1,
                    tookNodes));
        }
    }

    private void copy(Group group, List<Waiting> blocks) throws InterruptedException {
        blocks.sort(Comparator.comparingInt(Waiting::depth));
        for (int from = 0; from < blocks.size() && !closed; from += BATCH_BLOCKS) {
            List<Waiting> batch = blocks.subList(from, Math.min(blocks.size(), from + BATCH_BLOCKS));
            List<BlockKey> keys = batch.stream().map(Waiting::key).toList();
            @Nullable
            UUID[] nodes = copies.copy(
                            group.pool(),
                            group.tenant(),
                            keys,
                            group.holders(),
                            services.waits().deadline(PATIENCE))
                    .nodes();
            for (int i = 0; i < nodes.length; i++) {
                Set<UUID> took = new TreeSet<>(batch.get(i).tookNodes());
                UUID node = nodes[i];
                if (node != null) {
                    rests.copied(keys.get(i), services.nanoClock().getAsLong());
                    took.add(node);
                }
                if (node == null || group.holders().size() + 1 < group.copies()) {
                    again(batch.get(i), took);
                }
            }
        }
    }

    /** Living nodes that have the block and stay, this one included. */
    private Set<UUID> holders(String pool, BlockKey key, Set<UUID> tookNodes) {
        Set<UUID> holders = new TreeSet<>();
        for (UUID node : services.index().holders(pool, key)) {
            addStaying(holders, node);
        }
        for (UUID node : tookNodes) {
            if (services.members().find(node).isPresent()) {
                addStaying(holders, node);
            }
        }
        holders.add(services.localNodeId());
        return holders;
    }

    private void addStaying(Set<UUID> holders, UUID node) {
        if (!reports.draining(node)) {
            holders.add(node);
        }
    }

    private boolean here(String name, BlockKey key) {
        LocalKvPool pool = services.localPools().get(name);
        SsdTier tier = services.tiers().get(name);
        return pool != null && (pool.contains(key) || (tier != null && tier.contains(key)));
    }

    /** Of the holders that want as many copies as this one. */
    private boolean decides(BlockKey key, Set<UUID> holders) {
        List<UUID> deciding = holders.stream()
                .filter(node -> reports.of(node)
                        .map(report -> report.replicas() >= wanted)
                        .orElse(true))
                .toList();
        return Rendezvous.wins(key, services.localNodeId(), deciding);
    }

    @Override
    public void close() {
        closed = true;
        if (timer != null) {
            timer.cancel(false);
        }
    }
}
