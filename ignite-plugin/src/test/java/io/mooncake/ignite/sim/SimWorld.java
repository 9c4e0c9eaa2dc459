// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import io.mooncake.ignite.BlockSet;
import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.config.PluginOptions;
import io.mooncake.ignite.config.SettingsReader;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockListener;
import io.mooncake.memory.IncomingBlock;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.StoredBlock;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.jspecify.annotations.Nullable;

/**
 * Three nodes in one thread, by one clock and one seed: the shipped pools, leases, reads, feeds, indexes, offers, copies and drains. Nodes crash and come back as another
 * life at once, stand still, leave in order; readers are taken for gone and taken back; the network is {@link SimNet}. All bytes that anybody reads are looked at.
 */
final class SimWorld {
    private static final int PLACES = 3;
    private static final int COPIES = 2;
    private static final long SECOND = 1_000_000_000L;
    /** Copies that were missed are looked for once a minute. */
    private static final long REST = 75 * SECOND;

    private static final Duration GET = Duration.ofSeconds(4);
    private static final Duration DRAIN = Duration.ofSeconds(5);
    private static final MooncakeSettings[] SETTINGS = {settings(150), settings(3_000)};

    private final Random random;
    private final SimLoop loop = new SimLoop();
    private final SimFaults faults;
    private final SimNet net;
    private final @Nullable SimNode[] nodes = new SimNode[PLACES];
    private final List<SimNode> lives = new ArrayList<>();
    private final List<List<SimBlocks.Block>> chains = new ArrayList<>();
    private final Set<BlockKey> stored = new HashSet<>();
    private final MooncakeSettings settings;
    private final boolean crashes;
    private final boolean roomy;
    private final int slots;
    private boolean drains;
    private int calls;
    private long reads;
    private @Nullable AssertionError failure;

    SimWorld(long seed, SimFaults faults) {
        random = new Random(seed);
        this.faults = faults;
        net = new SimNet(loop, random, PLACES, faults);
        settings = SETTINGS[random.nextInt(SETTINGS.length)];
        crashes = random.nextInt(3) > 0;
        roomy = random.nextBoolean();
        int count = roomy ? 4 : 12;
        slots = roomy ? 2 * count * SimBlocks.DEPTH : 4;
        BlockKey root = ChainKeys.root(SimBlocks.IDENTITY, Tenant.DEFAULT.salt());
        for (int i = 0; i < count; i++) {
            chains.add(SimBlocks.chain(root, i));
        }
    }

    private static MooncakeSettings settings(long leaseMillis) {
        PluginOptions options = new PluginOptions();
        options.secret = "a secret of a simulation";
        options.host = "127.0.0.1";
        options.role = Role.STORE;
        options.dram = "1MiB";
        options.leaseMillis = leaseMillis;
        options.fetchTimeoutMillis = 3_000;
        options.heartbeatMillis = 500;
        options.replicas = COPIES;
        options.sharedMemory = false;
        return SettingsReader.read(options, new IgniteConfiguration());
    }

    /** Runs it to its end; @return what it did, as a hash */
    long run() {
        try {
            for (int place = 0; place < PLACES; place++) {
                start(place);
            }
            for (int step = 30 + random.nextInt(60); step > 0; step--) {
                go(random.nextInt(150) * SimNet.MILLI);
                step();
                checkTheDead();
            }
            rest();
            return loop.trace();
        } finally {
            lives.forEach(this::close);
        }
    }

    /** Blocks that were read and looked at. */
    long reads() {
        return reads;
    }

    private void close(SimNode node) {
        try {
            node.close();
        } catch (RuntimeException e) {
            if (failure == null) {
                failure = new AssertionError("something is still held: " + e.getMessage(), e);
                throw failure;
            }
        }
    }

    private void go(long nanos) {
        loop.runUntil(loop.now() + nanos);
        if (failure != null) {
            throw failure;
        }
    }

    private void require(boolean holds, String otherwise) {
        if (!holds) {
            AssertionError error = new AssertionError(otherwise);
            failure = failure == null ? error : failure;
            throw error;
        }
    }

    // ------------------------------------------------------------------------------------------------ what happens

    private void step() {
        SimNode node = nodes[random.nextInt(PLACES)];
        if (node == null) {
            return;
        }
        int other = (node.place + 1 + random.nextInt(PLACES - 1)) % PLACES;
        switch (random.nextInt(roomy ? 30 : 45)) {
            case 0 -> {
                if (crashes) {
                    stop(node);
                }
            }
            case 1 -> net.cut(node.place, other, random.nextInt(2_000) * SimNet.MILLI);
            case 2 -> node.life.pauseUntil(loop.now() + random.nextInt(1_500) * SimNet.MILLI);
            case 3, 4 -> living().forEach(reader -> suspect(node, reader));
            case 5 -> leave(node);
            case 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 -> call(node, () -> get(node));
            default -> call(node, () -> put(node));
        }
    }

    private void call(SimNode node, Runnable work) {
        calls++;
        loop.after(0, null, true, () -> {
            try {
                if (!node.life.dead()) {
                    work.run();
                }
            } finally {
                calls--;
            }
        });
    }

    private void start(int place) {
        SimNode node = new SimNode(loop, net, random, place, slots, settings, faults);
        lives.add(node);
        nodes[place] = node;
        node.local.addListener(new BlockListener() {
            @Override
            public void onStored(StoredBlock block) {
                judgeStored(node, block.key());
            }

            @Override
            public void onRemoved(BlockKey key, long generation) {}
        });
        node.members.join(node.local());
        for (SimNode other : nodes) {
            if (other != null && other != node) {
                node.members.join(other.self);
                loop.after(random.nextInt(50) * SimNet.MILLI, other.life, false, () -> other.members.join(node.self));
            }
        }
    }

    /** It is no more; the others hear of it in their own time, and then it comes back as another life. */
    private void stop(SimNode node) {
        if (node.life.dead()) {
            return;
        }
        node.life.kill();
        nodes[node.place] = null;
        for (SimNode other : nodes) {
            if (other != null) {
                loop.after(
                        random.nextInt(500) * SimNet.MILLI,
                        other.life,
                        false,
                        () -> other.members.leave(node.nodeId()));
            }
        }
        loop.after((500 + random.nextInt(1_000)) * SimNet.MILLI, null, false, () -> start(node.place));
    }

    private void suspect(SimNode owner, SimNode reader) {
        if (faults.suspects() && reader != owner) {
            UUID incarnation = reader.self.address().incarnation();
            owner.engine.peerGone(incarnation);
            // What was leased may go now, and its place be filled.
            for (int i = 0; i < 4; i++) {
                call(owner, () -> put(owner));
            }
            loop.after(random.nextInt(60) * SimNet.MILLI, owner.life, false, () -> {
                if (owner.members.find(reader.nodeId()).isPresent()) {
                    owner.engine.peerBack(incarnation);
                }
            });
        }
    }

    private void put(SimNode node) {
        List<SimBlocks.Block> chain = chains.get(random.nextInt(chains.size()));
        List<IncomingBlock> held = new ArrayList<>();
        try {
            for (SimBlocks.Block block : chain.subList(0, 1 + random.nextInt(chain.size()))) {
                IncomingBlock place = node.local.contains(block.key())
                        ? null
                        : node.local.beginIncoming(
                                block.key(), block.parent(), block.depth(), block.tokens(), Tenant.DEFAULT);
                if (place != null) {
                    held.add(place);
                    pause(node, random.nextInt(20));
                    SimBlocks.fill(block.key(), place.address(), place.length());
                    if (place.seal() == IncomingBlock.Outcome.STORED) {
                        stored.add(block.key());
                    }
                }
            }
        } finally {
            held.forEach(IncomingBlock::close);
        }
    }

    private static void pause(SimNode node, long millis) {
        try {
            node.waits.pause(millis * SimNet.MILLI);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void get(SimNode node) {
        List<BlockKey> keys = chains.get(random.nextInt(chains.size())).stream()
                .map(SimBlocks.Block::key)
                .toList();
        try (BlockSet set = node.blocks.get(keys, GET)) {
            judge(keys, set);
            pause(node, random.nextInt(random.nextInt(4) == 0 ? 800 : 20));
            judge(keys, set);
        }
    }

    private void judge(List<BlockKey> keys, BlockSet set) {
        for (int i = 0; i < keys.size(); i++) {
            PinnedBlock block = set.block(i);
            loop.note(set.results().get(i).status().ordinal());
            if (block != null) {
                judge(keys.get(i), block);
            }
        }
    }

    private void judgeStored(SimNode node, BlockKey key) {
        try (PinnedBlock block = node.local.pin(key)) {
            if (block != null) {
                judge(key, block);
            }
        }
    }

    private void judge(BlockKey key, PinnedBlock block) {
        reads++;
        require(
                block.key().equals(key) && SimBlocks.filled(key, block.address(), block.length()),
                "wrong bytes are served for block " + name(key));
    }

    private String name(BlockKey key) {
        for (int i = 0; i < chains.size(); i++) {
            for (SimBlocks.Block block : chains.get(i)) {
                if (block.key().equals(key)) {
                    return i + "/" + block.depth();
                }
            }
        }
        return key.hex();
    }

    /** Drains and stops; one at a time, so that somebody stays. The next may begin before it has heard of the last. */
    private void leave(SimNode node) {
        if (drains) {
            return;
        }
        drains = true;
        call(node, () -> {
            try {
                DrainResult result = node.placement.drain(node.waits.deadline(DRAIN));
                loop.note(result.moved() * 31 + result.left());
                if (result.left() == 0 && !crashes && roomy) {
                    for (BlockKey key : held(node)) {
                        require(
                                living().anyMatch(other -> other != node && other.local.contains(key)),
                                "block " + name(key) + " went with a node that had given everything to others");
                    }
                }
                if (result.left() == 0 || crashes) {
                    stop(node);
                } else {
                    node.placement.resume();
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            } finally {
                drains = false;
            }
        });
    }

    // ------------------------------------------------------------------------------------------------ what must hold

    private java.util.stream.Stream<SimNode> living() {
        return Arrays.stream(nodes).filter(Objects::nonNull);
    }

    private Set<BlockKey> keys() {
        Set<BlockKey> keys = new HashSet<>();
        chains.forEach(chain -> chain.forEach(block -> keys.add(block.key())));
        return keys;
    }

    private List<BlockKey> held(SimNode node) {
        return chains.stream()
                .flatMap(List::stream)
                .map(SimBlocks.Block::key)
                .filter(node.local::contains)
                .toList();
    }

    private void checkTheDead() {
        living().forEach(node -> {
            for (BlockKey key : keys()) {
                for (UUID holder : node.indexes.index().holders(SimNode.POOL, key)) {
                    require(!node.members.left().contains(holder), "block " + name(key) + " is found with a dead node");
                }
            }
        });
    }

    /** The network is quiet and nobody wants anything: all of it must come true soon, and what was asked must have an end. */
    private void rest() {
        net.calm();
        long until = loop.now() + REST;
        while (true) {
            go(SECOND);
            String wrong = wrong();
            if (wrong == null) {
                break;
            }
            require(loop.now() < until, wrong);
        }
        // Leases of readers that died run out.
        go(4 * SECOND);
        for (SimNode node : lives) {
            if (!node.life.dead()) {
                require(!node.engine.leases().iterator().hasNext(), "a lease is open that nobody has");
                for (BlockKey key : held(node)) {
                    try (PinnedBlock block = node.local.pin(key)) {
                        judge(key, Objects.requireNonNull(block));
                    }
                }
            }
        }
        checkTheDead();
    }

    private @Nullable String wrong() {
        if (calls > 0 || living().count() < PLACES) {
            return calls > 0 ? "a call has no end" : "a node does not come back";
        }
        for (SimNode node : living().toList()) {
            for (BlockKey key : keys()) {
                Set<UUID> found = new HashSet<>(node.indexes.index().holders(SimNode.POOL, key));
                Set<UUID> held = new HashSet<>();
                living().filter(other -> other != node && other.local.contains(key))
                        .forEach(other -> held.add(other.nodeId()));
                if (!found.equals(held)) {
                    return "the index of place " + node.place + " has other holders of block " + name(key)
                            + " than there are";
                }
            }
        }
        return roomy ? missing() : null;
    }

    private @Nullable String missing() {
        for (BlockKey key : keys()) {
            long copies = living().filter(node -> node.local.contains(key)).count();
            if (copies == 0 && !crashes && stored.contains(key)) {
                return "block " + name(key) + " is lost, and no node crashed";
            }
            if (copies > 0 && copies < COPIES) {
                return "block " + name(key) + " has " + copies + " copies (expected: " + COPIES + ")";
            }
        }
        return null;
    }
}
