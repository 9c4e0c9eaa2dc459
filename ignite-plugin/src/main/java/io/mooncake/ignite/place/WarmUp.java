// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.place.PlaceFrame.Hot;
import io.mooncake.ignite.place.PlaceFrame.HotBlocks;
import io.mooncake.ignite.place.PlaceFrame.HotQuery;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.Tenant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fills an empty node with what its peers use most, so that requests need not fetch it one by one. Each of a few peers names its most used blocks; they are pulled
 * most used first, as many as are free when a batch is asked for.
 *
 * <p>Threading: safe for all threads; {@link #run} blocks.
 */
final class WarmUp {
    static final String SERVICE = "mooncake.hot";
    private static final int PEERS = 3;
    private static final int BATCH_BLOCKS = 64;
    private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);

    private final NodeServices services;
    private final StoreReports reports;
    private final Semaphore answering = new Semaphore(1);

    WarmUp(NodeServices services, StoreReports reports) {
        this.services = services;
        this.reports = reports;
    }

    void start() {
        services.engine().control().handle(SERVICE, this::answer);
    }

    /**
     * Pulls the most used blocks of peers.
     *
     * @param name of the pool
     * @param maxBlocks most blocks pulled, at least 1
     * @return blocks that came
     * @throws MooncakeException NOT_FOUND for a pool that is not here
     */
    long run(String name, int maxBlocks, Deadline deadline) throws InterruptedException {
        ClusterKvPool pool = services.clusterPools().get(name);
        if (pool == null) {
            throw new MooncakeException(
                    MooncakeException.Code.NOT_FOUND,
                    "pool: " + name + " (expected: one of "
                            + services.clusterPools().keySet() + ")");
        }
        List<Member> peers = new ArrayList<>(services.members().all().stream()
                .filter(member -> reports.takes(member, name))
                .toList());
        Collections.shuffle(peers);
        long came = 0;
        for (Member peer : peers.subList(0, Math.min(PEERS, peers.size()))) {
            came += from(peer, pool, (int) Math.min(PlaceFrameDescriptor.MAX_HOT, maxBlocks - came), deadline);
            if (came >= maxBlocks || deadline.expired()) {
                break;
            }
        }
        LOG.info("Pool {} warmed up: {} blocks came from peers", name, came);
        return came;
    }

    private long from(Member peer, ClusterKvPool pool, int max, Deadline deadline) throws InterruptedException {
        List<Hot> wanted = new ArrayList<>();
        for (Hot block : ask(peer, pool.name(), max, deadline)) {
            if (!pool.local().contains(block.key())) {
                wanted.add(block);
            }
        }
        long came = 0;
        for (int from = 0; from < wanted.size() && !deadline.expired(); ) {
            String tenant = wanted.get(from).tenant();
            int room = Math.min(BATCH_BLOCKS, pool.local().stats().freeBlocks());
            List<BlockKey> batch = new ArrayList<>();
            while (from < wanted.size()
                    && batch.size() < room
                    && wanted.get(from).tenant().equals(tenant)) {
                batch.add(wanted.get(from++).key());
            }
            if (batch.isEmpty()) {
                return came;
            }
            came += pool.take(new Tenant(tenant, new byte[0]), batch, peer.nodeId(), peer.address(), deadline).stream()
                    .filter(reason -> reason == MissReason.NONE)
                    .count();
        }
        return came;
    }

    private List<Hot> ask(Member peer, String pool, int max, Deadline deadline) throws InterruptedException {
        try {
            byte[] reply = services.engine()
                    .control()
                    .request(
                            peer.address(),
                            SERVICE,
                            PlaceFrameDescriptor.encode(new HotQuery(pool, Math.max(1, max))),
                            deadline)
                    .toCompletableFuture()
                    .get(deadline.remainingMillis() + 1_000, TimeUnit.MILLISECONDS);
            if (PlaceFrameDescriptor.decode(reply) instanceof HotBlocks hot) {
                return hot.blocks();
            }
        } catch (ExecutionException | TimeoutException | MooncakeException e) {
            LOG.warn("{} does not say what it uses most: {}", peer.nodeId(), e.getMessage());
        }
        return List.of();
    }

    /** Keys are what lets others ask for blocks: members only. One at a time, because it walks over everything. */
    private byte[] answer(UUID from, byte[] payload) {
        if (!services.members().hasEngine(from)) {
            throw new MooncakeException(
                    MooncakeException.Code.STALE, "engine " + from + " (expected: one of a member of the cluster)");
        }
        if (!answering.tryAcquire()) {
            throw new MooncakeException(
                    MooncakeException.Code.EXHAUSTED, "another node is warmed up from here just now");
        }
        try {
            return answer(payload);
        } finally {
            answering.release();
        }
    }

    private byte[] answer(byte[] payload) {
        if (!(PlaceFrameDescriptor.decode(payload) instanceof HotQuery query)) {
            throw new MooncakeException(MooncakeException.Code.CORRUPT, "placement frame (expected: a hot query)");
        }
        if (!services.localPools().containsKey(query.pool())) {
            throw new MooncakeException(
                    MooncakeException.Code.NOT_FOUND,
                    "pool: " + query.pool() + " (expected: one of "
                            + services.localPools().keySet() + ")");
        }
        MostUsed most = new MostUsed(query.max());
        Held.forEach(services, query.pool(), most::add);
        return PlaceFrameDescriptor.encode(new HotBlocks(whole(most.sorted())));
    }

    /** Without those whose parent is left out although it is here: they would be of no use. */
    private static List<Hot> whole(List<Held> sorted) {
        Set<BlockKey> named = new HashSet<>();
        List<Hot> blocks = new ArrayList<>();
        for (Held view : sorted) {
            if (view.depth() == 0 || named.contains(view.parent())) {
                named.add(view.key());
                blocks.add(new Hot(view.key(), view.hits(), view.tenant()));
            }
        }
        return blocks;
    }
}
