// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import io.mooncake.base.Waits;
import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.blocks.ClusterBlocks;
import io.mooncake.ignite.config.IdentityText;
import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.feed.FeedService;
import io.mooncake.ignite.feed.FeedThread;
import io.mooncake.ignite.feed.PoolBlocks;
import io.mooncake.ignite.index.ClusterIndex;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.internal.Placement;
import io.mooncake.ignite.node.SimIndexes;
import io.mooncake.ignite.place.NodePlacement;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.ignite.pool.LocalPools;
import io.mooncake.ignite.pool.SimPools;
import io.mooncake.ignite.state.StateStore;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.Tenant;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.SimEngine;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.tcp.GonePeers;
import io.mooncake.transfer.topology.Locality;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/** One life of a node: the shipped parts that keep, announce, lend, fetch and copy blocks, put together as a node does it. */
final class SimNode {
    static final String POOL = "p";
    private static final SecureRandom KEYS = new SecureRandom();
    private static final PoolDefinition DEFINITION = new PoolDefinition(POOL, SimBlocks.IDENTITY, SimBlocks.VOCABULARY);
    private static final int MAX_ENTRIES = 1_024;

    final SimLoop.Life life;
    final int place;
    final Member self;
    final SimMembers members = new SimMembers();
    final LocalPools pools;
    final LocalKvPool local;
    final SimIndexes indexes;
    final FeedService feed;
    final SimEngine engine;
    final SimNet.Host host;
    final Placement placement = new NodePlacement();
    final KvBlocks blocks;
    final Waits waits;

    private final SimLoop loop;
    private final SimTimer timer;
    private final MooncakeSettings settings;
    private final RandomGenerator random;
    private final TransferEngine asEngine;
    private final ClusterKvPool cluster;
    /** Not started: a cluster that remembers nothing. */
    private final StateStore state = new StateStore();

    private boolean closed;

    SimNode(
            SimLoop loop,
            SimNet net,
            RandomGenerator random,
            int place,
            int slots,
            MooncakeSettings settings,
            SimFaults faults) {
        this.loop = loop;
        this.place = place;
        this.settings = settings;
        this.random = random;
        life = new SimLoop.Life(random.nextLong());
        timer = new SimTimer(loop, life);
        waits = loop.waits(life);
        UUID nodeId = new UUID(random.nextLong(), random.nextLong());
        PeerAddress address = SimNet.address(place, new UUID(random.nextLong(), random.nextLong()));
        self = new Member(
                nodeId,
                "place-" + place,
                Role.STORE,
                address,
                Map.of(POOL, IdentityText.encode(SimBlocks.IDENTITY)),
                FeedService.MAX_VERSION,
                false,
                Locality.UNKNOWN);
        GonePeers gone = new GonePeers();
        host = net.new Host(place, address.incarnation(), life, gone, waits);
        engine = new SimEngine(
                address,
                host,
                gone,
                host.wire(faults.checks().incarnation()),
                waits,
                new SimTimer(loop, life),
                KEYS,
                faults.checks());
        asEngine = engine.engine();
        long bytes = slots * LocalKvPool.blockStrideBytes(SimBlocks.IDENTITY);
        pools = SimPools.of(DEFINITION, bytes, loop::now, faults.checks().checksum());
        local = pools.byName().get(POOL);
        feed = new FeedService(
                host,
                address.incarnation(),
                pools.byName().keySet(),
                true,
                settings.heartbeat(),
                8 << 10,
                loop::now,
                new Feeding());
        pools.listen(feed::poolListener, null, "", 0);
        feed.held(POOL, new PoolBlocks(local, null));
        indexes = new SimIndexes(members, POOL, SimBlocks.IDENTITY, MAX_ENTRIES);
        cluster = ClusterKvPool.of(
                local,
                null,
                indexes.holders(POOL),
                asEngine,
                settings.leaseTerm(),
                settings.fetchTimeout(),
                loop::now,
                (holder, count, nanos) -> {});
        pools.serve(asEngine, true);
        NodeServices services = Partly.of(NodeServices.class, new Services(indexes.index()));
        members.addListener(indexes.follow(asEngine, feed, members, this::work));
        feed.start();
        placement.start(
                faults.loyal()
                        ? Partly.of(NodeServices.class, new Services(Partly.of(ClusterIndex.class, new Remembered())))
                        : services);
        blocks = new ClusterBlocks(services, cluster, Tenant.DEFAULT);
        host.up(engine);
    }

    UUID nodeId() {
        return self.nodeId();
    }

    /** This node as it sees itself. */
    Member local() {
        return new Member(
                self.nodeId(),
                self.consistentId(),
                self.role(),
                self.address(),
                self.pools(),
                self.protocol(),
                true,
                self.locality());
    }

    /** Takes back what it had of the machine; throws when something is still held. */
    void close() {
        if (!closed) {
            closed = true;
            life.kill();
            engine.close();
            pools.close();
            feed.close();
        }
    }

    private void work(Runnable work) {
        loop.after(0, life, true, work);
    }

    /** A seeded bug: an index that goes on naming holders that left. */
    public final class Remembered {
        private final Map<BlockKey, Set<UUID>> ever = new HashMap<>();

        public List<UUID> holders(String pool, BlockKey key) {
            Set<UUID> all = ever.computeIfAbsent(key, one -> new LinkedHashSet<>());
            all.addAll(indexes.index().holders(pool, key));
            return List.copyOf(all);
        }
    }

    /** What its parts ask of the node. */
    public final class Services {
        private final ClusterIndex index;

        Services(ClusterIndex index) {
            this.index = index;
        }

        public MooncakeSettings settings() {
            return settings;
        }

        public UUID localNodeId() {
            return self.nodeId();
        }

        public TransferEngine engine() {
            return asEngine;
        }

        public Map<String, LocalKvPool> localPools() {
            return pools.byName();
        }

        public Map<String, ClusterKvPool> clusterPools() {
            return Map.of(POOL, cluster);
        }

        public Map<String, SsdTier> tiers() {
            return Map.of();
        }

        public ClusterIndex index() {
            return index;
        }

        public Members members() {
            return members;
        }

        public Placement placement() {
            return placement;
        }

        public StateStore state() {
            return state;
        }

        public ScheduledExecutorService scheduler() {
            return timer;
        }

        public Executor workers() {
            return SimNode.this::work;
        }

        public LongSupplier nanoClock() {
            return loop::now;
        }

        public Waits waits() {
            return waits;
        }

        public RandomGenerator random() {
            return random;
        }
    }

    /** The feed's thread. */
    private final class Feeding implements FeedThread {
        @Override
        public void execute(Runnable work) {
            loop.after(0, life, false, work);
        }

        @Override
        public void after(Duration delay, Runnable work) {
            loop.after(delay.toNanos(), life, false, work);
        }

        @Override
        public void every(Duration interval, Runnable work) {
            after(interval, () -> {
                work.run();
                every(interval, work);
            });
        }

        @Override
        public void close() {}
    }
}
