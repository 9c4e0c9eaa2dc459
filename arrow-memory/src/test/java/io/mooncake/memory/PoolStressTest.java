// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.isFilled;
import static io.mooncake.memory.Pools.pool;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.IncomingBlock.Outcome;
import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.policy.Policies;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.apache.arrow.memory.util.MemoryUtil;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Threads acquire, extend, pin, fetch and so evict in a pool far too small for what they want. Every byte says whose it is, so a wrong one
 * is seen; a listener keeps its own idea of the pool's contents from the events, in which no chain may have a hole; at the end everything is
 * free.
 */
class PoolStressTest {
    private static final int THREADS = 4;
    private static final int BLOCKS = 9;
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    private final List<Tenant> tenants =
            List.of(Tenant.DEFAULT, new Tenant("a", new byte[] {1}), new Tenant("b", new byte[] {2}));
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
    private final AtomicLong bytesChecked = new AtomicLong();
    private final AtomicLong pinsHeld = new AtomicLong();
    private volatile boolean over;
    /** Whether blocks are pinned and removed by their keys, too: a chain may get a hole before a block that is just arriving then. */
    private boolean byKey;

    @ParameterizedTest
    @EnumSource(ReuseMode.class)
    void pool_concurrentUse_servesNoWrongByteAndEndsFree(ReuseMode mode) throws Exception {
        play(mode, "lru", Seeds.count(2, 60) * 1_000_000_000L);
    }

    @ParameterizedTest
    @MethodSource("policies")
    void pool_anyPolicy_servesNoWrongByteAndLeavesNoHole(String policy) throws Exception {
        play(ReuseMode.FAST, policy, Seeds.count(500, 30_000) * 1_000_000L);
    }

    @ParameterizedTest
    @EnumSource(ReuseMode.class)
    void pool_pinnedAndRemovedByKey_servesNoWrongByteAndEndsFree(ReuseMode mode) throws Exception {
        byKey = true;
        play(mode, "lru", Seeds.count(1, 60) * 1_000_000_000L);
    }

    static Stream<String> policies() {
        return Policies.names().stream();
    }

    private void play(ReuseMode mode, String policy, long nanos) throws Exception {
        SplittableRandom random = Seeds.random("pool_concurrentUse " + mode + " " + policy);
        try (LocalKvPool pool = pool(identity(mode), BLOCKS, policy)) {
            Mirror mirror = new Mirror(!byKey);
            pool.addListener(mirror);
            List<Thread> threads = new ArrayList<>();
            long end = System.nanoTime() + nanos;
            for (int i = 0; i < THREADS; i++) {
                SplittableRandom mine = random.split();
                Thread thread = new Thread(() -> run(pool, mine), "stress-" + i);
                thread.start();
                threads.add(thread);
            }
            // A busy machine may give the threads little of that time: what is asked for below has to have happened.
            while (System.nanoTime() < end || (!pressed(pool, byKey) && System.nanoTime() - end < PATIENCE_NANOS)) {
                pool.forEachBlock(block -> mirror.expect(block));
                Thread.sleep(5);
            }
            over = true;
            for (Thread thread : threads) {
                thread.join(20_000);
                assertThat(thread.isAlive()).isFalse();
            }
            assertThat(failures).isEmpty();
            assertThat(mirror.failures).isEmpty();
            PoolStatistics stats = pool.stats();
            System.out.println(
                    "pool_concurrentUse " + mode + " " + policy + ": " + stats + ", bytes checked " + bytesChecked);
            assertThat(stats.openLeases()).isZero();
            assertThat(stats.blocks() + stats.freeBlocks()).isEqualTo(BLOCKS);
            assertThat(stats.stored() - stats.evicted() - stats.removed()).isEqualTo(stats.blocks());
            assertThat(stats.evicted()).isPositive();
            assertThat(stats.allocationFailures()).isPositive();
            assertThat(stats.listenerErrors()).isZero();
            assertThat(mirror.blocks).hasSize(stats.blocks());
            pool.forEachView(view -> assertThat(view.leases()).isZero());
            fillAlone(pool);
        }
    }

    private boolean pressed(LocalKvPool pool, boolean byKey) {
        PoolStatistics stats = pool.stats();
        return (!byKey || stats.removed() > 0 && pinsHeld.get() > 0)
                && stats.evicted() > 0
                && stats.allocationFailures() > 0;
    }

    /** Nothing is stuck: a single user can have every block. */
    private static void fillAlone(LocalKvPool pool) {
        pool.store().admitAll();
        int[] all = new int[BLOCKS * BLOCK_TOKENS];
        Arrays.fill(all, Pools.VOCABULARY - 1);
        assertThat(Pools.store(pool, Tenant.DEFAULT, all)).isEqualTo(BLOCKS);
    }

    private void run(LocalKvPool pool, SplittableRandom random) {
        try {
            while (!over && failures.isEmpty()) {
                Tenant tenant = tenants.get(random.nextInt(tenants.size()));
                // Few distinct tokens: prompts share beginnings.
                int[] prompt =
                        random.ints(random.nextInt(1, 6 * BLOCK_TOKENS), 0, 2).toArray();
                for (int i = 0; i < prompt.length; i++) {
                    prompt[i] = i % BLOCK_TOKENS < 6 ? i % 5 : prompt[i];
                }
                switch (random.nextInt(byKey ? 6 : 4)) {
                    case 0 -> fetch(pool, tenant, prompt, random);
                    case 1 -> pin(pool, tenant, prompt);
                    case 4 -> keep(pool, tenant, prompt, random);
                    case 5 -> remove(pool, tenant, prompt, random);
                    default -> use(pool, tenant, prompt, random);
                }
            }
        } catch (RuntimeException | Error e) {
            StringWriter text = new StringWriter();
            e.printStackTrace(new PrintWriter(text));
            failures.add(text.toString());
        }
    }

    private void use(LocalKvPool pool, Tenant tenant, int[] prompt, SplittableRandom random) {
        List<BlockKey> chain = pool.chain(tenant, prompt);
        try (PrefixLease hit = pool.acquire(tenant, prompt)) {
            check(pool, tenant, hit, prompt, chain);
            try (BlockWriter writer = pool.extend(tenant, hit, prompt)) {
                while (writer.hasNext()) {
                    BlockKey key = chain.get(writer.blockIndex());
                    Pools.fill(writer.next(), pool.layout(), tenant.name(), key);
                    if (random.nextInt(4) == 0) {
                        writer.publish();
                    }
                }
                if (random.nextInt(8) != 0) {
                    writer.publish();
                }
            }
            check(pool, tenant, hit, prompt, chain);
        }
    }

    private void check(LocalKvPool pool, Tenant tenant, PrefixLease lease, int[] prompt, List<BlockKey> chain) {
        for (int i = 0; i < lease.blockCount(); i++) {
            BlockKey key = chain.size() > i ? chain.get(i) : null;
            if (lease.blockTokens(i) < BLOCK_TOKENS) { // a sibling's block, used in part
                ByteBuffer header = pool.store().header(((LocalLease) lease).slot(i));
                key = BlockDescriptor.key(header);
                int[] own = BlockDescriptor.tokens(header, pool.layout());
                if (Arrays.mismatch(own, 0, lease.blockTokens(i), prompt, i * BLOCK_TOKENS, lease.matchedTokens())
                        >= 0) {
                    failures.add("tokens of partial block " + i + " of " + Arrays.toString(prompt));
                }
            }
            if (key == null || !isFilled(lease.block(i), pool.layout(), tenant.name(), key)) {
                failures.add("block " + i + " of " + Arrays.toString(prompt));
            }
            bytesChecked.addAndGet(pool.layout().payloadBytes());
        }
    }

    private void pin(LocalKvPool pool, Tenant tenant, int[] prompt) {
        for (BlockKey key : pool.chain(tenant, prompt)) {
            try (PinnedBlock pin = pool.pin(key)) {
                if (pin != null
                        && !(pin.key().equals(key)
                                && pool.verify(pin)
                                && pool.isCurrent(pin.offset(), pin.length(), pin.generation())
                                && isFilled(
                                        Pools.view(pin.address(), pin.length()), pool.layout(), tenant.name(), key))) {
                    failures.add("pin of " + key);
                }
            }
        }
    }

    /** A pinned block is there until it is unpinned, whatever others do. */
    private void keep(LocalKvPool pool, Tenant tenant, int[] prompt, SplittableRandom random) {
        use(pool, tenant, prompt, random);
        for (BlockKey key : pool.chain(tenant, prompt)) {
            if (random.nextInt(4) == 0) {
                pool.pinSoft(key, Duration.ofNanos(random.nextInt(1, 1_000_000)));
            } else if (pool.pinHard(key) == BlockOutcome.DONE) {
                for (int i = 0; i < 3; i++) {
                    use(pool, tenants.get(random.nextInt(tenants.size())), prompt, random);
                    if (!pool.contains(key) || pool.remove(key, RemovalCause.REMOVED) != BlockOutcome.PINNED) {
                        failures.add("a pinned block has gone: " + key);
                    }
                }
                pinsHeld.incrementAndGet();
                if (pool.unpin(key) != BlockOutcome.DONE) {
                    failures.add("a pin has gone: " + key);
                }
            }
        }
    }

    private void remove(LocalKvPool pool, Tenant tenant, int[] prompt, SplittableRandom random) {
        List<BlockKey> chain = pool.chain(tenant, prompt);
        if (!chain.isEmpty()) {
            BlockKey key = chain.get(random.nextInt(chain.size()));
            try (PrefixLease held = pool.acquire(tenant, prompt)) {
                pool.remove(key, RemovalCause.REMOVED);
                check(pool, tenant, held, prompt, chain);
            }
        }
    }

    /** As a cluster's pool does: match, bring the next blocks from elsewhere, go on. */
    private void fetch(LocalKvPool pool, Tenant tenant, int[] prompt, SplittableRandom random) {
        List<BlockKey> chain = pool.chain(tenant, prompt);
        try (LocalMatch match = pool.match(tenant, prompt)) {
            int local = match.matchedTokens();
            for (int i = match.wholeBlocks();
                    i < match.reusableTokens() / BLOCK_TOKENS && i == match.wholeBlocks();
                    i++) {
                int[] own = Arrays.copyOfRange(prompt, i * BLOCK_TOKENS, (i + 1) * BLOCK_TOKENS);
                try (IncomingBlock in = pool.beginIncoming(chain.get(i), match.lastKey(), i, own, tenant)) {
                    if (in == null || random.nextInt(8) == 0) {
                        break;
                    }
                    Pools.fill(Pools.view(in.address(), in.length()), pool.layout(), tenant.name(), in.key());
                    Outcome outcome = in.commit(crcs(pool, in.address()));
                    if (outcome != Outcome.STORED && outcome != Outcome.KEPT_EXISTING) {
                        failures.add("commit: " + outcome);
                    }
                    match.extendLocally();
                    if (!byKey && outcome == Outcome.STORED && match.wholeBlocks() <= i) {
                        failures.add("a committed block is not found");
                    }
                }
            }
            try (PrefixLease lease = match.toLease(Math.min(local, match.matchedTokens()), MissReason.NOT_CACHED)) {
                check(pool, tenant, lease, prompt, chain);
            }
        }
    }

    private static int[] crcs(LocalKvPool pool, long address) {
        BlockLayout layout = pool.layout();
        int[] crcs = new int[layout.layers()];
        for (int layer = 0; layer < crcs.length; layer++) {
            CRC32C crc = new CRC32C();
            crc.update(MemoryUtil.directBuffer(address + layout.keyOffset(layer), layout.layerBytes()));
            crcs[layer] = (int) crc.getValue();
        }
        return crcs;
    }

    /** What the events say is in the pool. Called by one thread at a time. */
    private static final class Mirror implements BlockListener {
        final Map<BlockKey, Long> blocks = new HashMap<>();
        final Map<BlockKey, BlockKey> parents = new HashMap<>();
        final Map<BlockKey, Integer> followers = new HashMap<>();
        final List<String> failures = new ArrayList<>();
        private final boolean whole;

        /** @param whole whether a block comes only behind its parent */
        Mirror(boolean whole) {
            this.whole = whole;
        }

        @Override
        public void onStored(StoredBlock block) {
            if (whole && block.depth() > 0 && !blocks.containsKey(block.parent())) {
                failures.add("hole before " + block.key());
            }
            parents.put(block.key(), block.parent());
            followers.merge(block.parent(), 1, Integer::sum);
            if (blocks.put(block.key(), block.generation()) != null) {
                failures.add("stored twice: " + block.key());
            }
        }

        @Override
        public void onRemoved(BlockKey key, long generation) {
            if (followers.getOrDefault(key, 0) > 0) {
                failures.add("hole at " + key);
            }
            followers.merge(parents.remove(key), -1, Integer::sum);
            Long had = blocks.remove(key);
            if (had == null || had != generation) {
                failures.add("removed " + generation + ", was " + had);
            }
        }

        /** Snapshots stand in the order of events, so they agree with it. */
        void expect(StoredBlock block) {
            Long had = blocks.get(block.key());
            if (had == null || had != block.generation()) {
                failures.add("snapshot has " + block.generation() + ", events say " + had);
            }
        }
    }
}
