// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a tenant may have of memory and SSD, and whose blocks go for it. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class TenantQuotaTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.FAST);
    private static final long STRIDE = LocalKvPool.blockStrideBytes(IDENTITY);
    private static final Tenant A = new Tenant("a", new byte[] {1});
    private static final Tenant B = new Tenant("b", new byte[] {2});
    private static final Tenant C = new Tenant("c", new byte[] {3});

    @TempDir
    Path folder;

    private final AtomicLong clock = new AtomicLong(1);

    private static TenantQuota blocks(long dram, long ssd) {
        return new TenantQuota(dram * STRIDE, ssd * STRIDE);
    }

    private static int[] prompt(SplittableRandom random, int blocks) {
        return Pools.tokens(random, blocks * BLOCK_TOKENS + 1);
    }

    private static BlockKey first(LocalKvPool pool, Tenant tenant, int[] tokens) {
        return pool.chain(tenant, tokens).get(0);
    }

    private static long inMemory(LocalKvPool pool, Tenant tenant) {
        return pool.use(tenant).dramBytes() / STRIDE;
    }

    @Test
    void put_tenantAtItsLimit_losesItsOwnLeastWorthyBlock() {
        SplittableRandom random = new SplittableRandom(1);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8, "lru", clock::incrementAndGet)) {
            pool.limit(A, blocks(2, 2));
            int[] other = prompt(random, 3);
            Pools.store(pool, B, other);
            List<int[]> own = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                own.add(prompt(random, 1));
                assertThat(Pools.store(pool, A, own.get(i))).isEqualTo(1);
            }
            assertThat(own.stream().map(tokens -> pool.contains(first(pool, A, tokens))))
                    .containsExactly(false, false, true, true);
            assertThat(pool.chain(B, other)).allMatch(pool::contains);
            assertThat(pool.use(A)).isEqualTo(new TenantUse("a", 2 * STRIDE, 0, blocks(2, 2), 0));
            assertThat(inMemory(pool, B)).isEqualTo(3);
            assertThat(pool.stats().freeBlocks()).isEqualTo(3);
            assertThat(pool.uses()).extracting(TenantUse::tenant).contains("a", "b");
        }
    }

    @Test
    void close_tierOfAPoolThatLivesOn_givesItsPlacesBack() {
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8)) {
            for (int life = 0; life < 2; life++) {
                try (SsdTier tier = SsdTier.open(
                        pool,
                        SsdTier.settings(pool, folder, "node-1", 32 * STRIDE)
                                .segmentBytes(16L * STRIDE)
                                .commitMillis(5)
                                .scrubBytesPerSecond(0)
                                .build(),
                        List.of())) {
                    assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
                    Pools.store(pool, A, Pools.tokens(new SplittableRandom(1 + life), 2 * BLOCK_TOKENS));
                    assertThat(tier.flush(Pools.soon())).isTrue();
                    assertThat(pool.use(A).ssdBytes()).isPositive();
                }
                assertThat(pool.use(A).ssdBytes()).isZero();
                assertThat(pool.uses())
                        .allSatisfy(use -> assertThat(use.ssdBytes()).isZero());
            }
        }
    }

    @Test
    void release_ofATenantBelowItsLimit_doesNotWaitForOneThatHasTooMuch() throws Exception {
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8)) {
            int[] held = Pools.tokens(new SplittableRandom(1), 3 * Pools.BLOCK_TOKENS);
            int[] other = Pools.tokens(new SplittableRandom(2), Pools.BLOCK_TOKENS);
            Pools.store(pool, A, held);
            Pools.store(pool, B, other);
            PrefixLease heldLease = pool.acquire(A, held);
            PrefixLease otherLease = pool.acquire(B, other);
            pool.limit(A, new TenantQuota(STRIDE, STRIDE));
            pool.store().change.lock();
            try {
                thread.submit(otherLease::close).get(20, TimeUnit.SECONDS);
            } finally {
                pool.store().change.unlock();
            }
            assertThat(pool.use(A).dramBytes()).isEqualTo(3 * STRIDE);
            heldLease.close();
            assertThat(pool.use(A).dramBytes()).isEqualTo(STRIDE);
        } finally {
            thread.shutdownNow();
        }
    }

    @Test
    void put_nothingOfItsOwnCanGo_isRefusedThoughThereIsRoom() {
        SplittableRandom random = new SplittableRandom(2);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8, "lru", clock::incrementAndGet)) {
            pool.limit(A, blocks(1, 1));
            int[] tokens = prompt(random, 1);
            Pools.store(pool, A, tokens);
            BlockKey key = first(pool, A, tokens);
            pool.pinHard(key);
            assertThat(Pools.store(pool, A, prompt(random, 1))).isZero();
            int[] own = Arrays.copyOf(prompt(random, 1), BLOCK_TOKENS);
            assertThat(pool.beginIncoming(first(pool, A, own), pool.root(A), 0, own, A))
                    .isNull();
            assertThat(pool.use(A).refused()).isGreaterThanOrEqualTo(2);
            assertThat(pool.stats().freeBlocks()).isEqualTo(7);
            assertThat(Pools.store(pool, B, prompt(random, 2))).isEqualTo(2);
            pool.unpin(key);
            assertThat(Pools.store(pool, A, prompt(random, 1))).isEqualTo(1);
            pool.limit(C, blocks(0, 0));
            assertThat(Pools.store(pool, C, prompt(random, 1))).isZero();
        }
    }

    @Test
    void limit_belowWhatItHas_takesTheRestAtOnceButNotWhatIsHeld() {
        SplittableRandom random = new SplittableRandom(3);
        int[] tokens = prompt(random, 3);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8, "lru", clock::incrementAndGet)) {
            Pools.store(pool, A, tokens);
            Pools.store(pool, A, prompt(random, 3));
            try (PrefixLease lease = pool.acquire(A, tokens)) {
                pool.limit(A, blocks(1, 1));
                assertThat(inMemory(pool, A)).as("three are held").isEqualTo(3);
                assertThat(lease.blockCount()).isEqualTo(3);
            }
            assertThat(inMemory(pool, A)).as("with their release").isEqualTo(1);
            assertThat(Pools.store(pool, A, prompt(random, 1))).isEqualTo(1);
            assertThat(inMemory(pool, A)).isEqualTo(1);
            pool.limit(A, TenantQuota.UNLIMITED);
            assertThat(Pools.store(pool, A, prompt(random, 4))).isEqualTo(4);
        }
    }

    @Test
    void quota_negativeBytes_isRefusedByName() {
        assertThatThrownBy(() -> new TenantQuota(-1, 0)).hasMessageContaining("quota dramBytes: -1");
        assertThatThrownBy(() -> new TenantQuota(0, -2)).hasMessageContaining("quota ssdBytes: -2");
    }

    /** Blocks that start chains, so that which one goes is exactly the one used longest ago. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void quotas_randomUse_areThoseOfAPlainModel(int run) {
        SplittableRandom random = Seeds.random("quotas " + run);
        Tenant[] tenants = {A, B, C};
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16, "lru", clock::incrementAndGet)) {
            List<Model> models = new ArrayList<>();
            List<RemovalCause> causes = new ArrayList<>();
            pool.addListener(new BlockListener() {
                @Override
                public void onStored(StoredBlock block) {}

                @Override
                public void onRemoved(BlockKey key, long generation, RemovalCause cause) {
                    causes.add(cause);
                }
            });
            for (Tenant tenant : tenants) {
                models.add(new Model(pool, tenant, 5));
            }
            for (int i = 0; i < Seeds.count(2_000, 100_000); i++) {
                models.get(random.nextInt(3)).step(random);
                if (i % 20 == 0) {
                    models.forEach(Model::check);
                }
            }
            models.forEach(Model::check);
            assertThat(causes).as("the pool has room for all").doesNotContain(RemovalCause.EVICTED);
            assertThat(causes).contains(RemovalCause.QUOTA);
            models.forEach(Model::close);
        }
    }

    /** One tenant: which of twelve blocks it has, least recently used first. */
    private static final class Model implements AutoCloseable {
        private final LocalKvPool pool;
        private final Tenant tenant;
        private final Map<BlockKey, Boolean> pinned = new LinkedHashMap<>(16, 0.75f, true);
        private final Map<BlockKey, PinnedBlock> leased = new HashMap<>();
        private final List<int[]> prompts = new ArrayList<>();
        private int limit;

        Model(LocalKvPool pool, Tenant tenant, int limit) {
            this.pool = pool;
            this.tenant = tenant;
            limit(limit);
            SplittableRandom random = new SplittableRandom(tenant.name().hashCode());
            for (int i = 0; i < 12; i++) {
                prompts.add(prompt(random, 1));
            }
        }

        private void limit(int blocks) {
            limit = blocks;
            pool.limit(tenant, blocks(blocks, 0));
            trim();
        }

        private void trim() {
            while (pinned.size() > limit && dropOldest()) {}
        }

        private boolean dropOldest() {
            for (Iterator<Map.Entry<BlockKey, Boolean>> all = pinned.entrySet().iterator(); all.hasNext(); ) {
                Map.Entry<BlockKey, Boolean> one = all.next();
                if (!one.getValue() && !leased.containsKey(one.getKey())) {
                    all.remove();
                    return true;
                }
            }
            return false;
        }

        void step(SplittableRandom random) {
            int[] tokens = prompts.get(random.nextInt(prompts.size()));
            BlockKey key = first(pool, tenant, tokens);
            switch (random.nextInt(12)) {
                case 0 -> {
                    boolean here = pinned.get(key) != null;
                    assertThat(pool.pinHard(key) != BlockOutcome.ABSENT).isEqualTo(here);
                    if (here) {
                        pinned.put(key, true);
                        pool.acquire(tenant, tokens).close(); // looking at the model was a use
                    }
                }
                case 1, 2 -> {
                    if (pinned.get(key) != null) {
                        pool.acquire(tenant, tokens).close();
                        pool.unpin(key);
                        pinned.put(key, false);
                        trim();
                    }
                }
                case 3 -> {
                    PinnedBlock pin = leased.containsKey(key) ? null : pool.pin(key);
                    if (pin != null) {
                        assertThat(pinned.get(key)).isNotNull();
                        leased.put(key, pin);
                    }
                }
                case 4, 5 -> {
                    PinnedBlock pin = leased.remove(key);
                    if (pin != null) {
                        pin.close();
                        trim();
                    }
                }
                case 6 -> limit(random.nextInt(0, 6));
                default -> put(tokens, key);
            }
        }

        private void put(int[] tokens, BlockKey key) {
            int stored = Pools.store(pool, tenant, tokens);
            if (pinned.get(key) != null) {
                return; // used
            }
            trim();
            boolean room = pinned.size() < limit || dropOldest();
            assertThat(stored).isEqualTo(room ? 1 : 0);
            if (room) {
                pinned.put(key, false);
            }
        }

        void check() {
            long held = prompts.stream()
                    .map(tokens -> first(pool, tenant, tokens))
                    .filter(key -> {
                        assertThat(pool.contains(key)).isEqualTo(pinned.containsKey(key));
                        return pool.contains(key);
                    })
                    .count();
            assertThat(pool.use(tenant).dramBytes()).isEqualTo(held * STRIDE);
            long free = pinned.entrySet().stream()
                    .filter(one -> !one.getValue() && !leased.containsKey(one.getKey()))
                    .count();
            assertThat(held <= limit || free == 0)
                    .as("above only for what is held")
                    .isTrue();
        }

        @Override
        public void close() {
            leased.values().forEach(PinnedBlock::close);
        }
    }

    @Test
    void quotas_fourThreads_holdAtEveryQuietPointAndCostOthersNothing() throws Exception {
        SplittableRandom random = Seeds.random("quotas threads");
        int[] quiet = prompt(random, 4);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 24)) {
            pool.limit(A, blocks(5, 0));
            pool.limit(B, blocks(7, 0));
            pool.limit(C, blocks(6, 0));
            Pools.store(pool, C, quiet);
            ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
            int rounds = Seeds.count(20, 500);
            CyclicBarrier barrier = new CyclicBarrier(4, () -> {
                for (TenantUse use : pool.uses()) {
                    if (use.dramBytes() > use.quota().dramBytes()) {
                        failures.add("above its quota: " + use);
                    }
                    long[] held = {0};
                    pool.forEachSlot(0, 24, block -> held[0] += block.tenant().equals(use.tenant()) ? STRIDE : 0);
                    if (held[0] != use.dramBytes()) {
                        failures.add("has " + held[0] + ", counted " + use);
                    }
                }
                if (!pool.chain(C, quiet).stream().allMatch(pool::contains)) {
                    failures.add("a tenant below its quota lost a block");
                }
            });
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                SplittableRandom mine = random.split();
                Tenant tenant = i % 2 == 0 ? A : B;
                Thread thread = new Thread(() -> {
                    try {
                        for (int round = 0; round < rounds; round++) {
                            for (int put = 0; put < 20; put++) {
                                Pools.store(pool, tenant, prompt(mine, mine.nextInt(1, 5)));
                            }
                            barrier.await(60, TimeUnit.SECONDS);
                        }
                    } catch (Exception | Error e) {
                        failures.add(e.toString());
                        barrier.reset();
                    }
                });
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join(100_000);
                assertThat(thread.isAlive()).isFalse();
            }
            assertThat(failures).isEmpty();
            assertThat(pool.stats().evicted()).isPositive();
        }
    }

    @Test
    void ssd_tenantAtItsLimit_losesItsOwnRecordsAndNobodyElses() throws Exception {
        SplittableRandom random = new SplittableRandom(7);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 64);
                SsdTier tier = SsdTier.open(
                        pool,
                        SsdTier.settings(pool, folder, "node-1", 64 * STRIDE)
                                .segmentBytes(16 * STRIDE)
                                .commitMillis(5)
                                .build(),
                        List.of())) {
            pool.limit(A, blocks(64, 5));
            int[] other = prompt(random, 6);
            Pools.store(pool, B, other);
            for (int i = 0; i < 12; i++) {
                Pools.store(pool, A, prompt(random, 2));
                assertThat(pool.use(A).ssdBytes()).isLessThanOrEqualTo(5 * STRIDE);
            }
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(pool.use(A).ssdBytes()).isEqualTo(5 * STRIDE);
            assertThat(pool.use(B).ssdBytes()).isEqualTo(6 * STRIDE);
            assertThat(pool.chain(B, other)).allMatch(tier::contains);
            assertThat(inMemory(pool, A)).isEqualTo(24);
            assertThat(tier.statistics().blocks()).isEqualTo(11);
            pool.limit(C, blocks(64, 0));
            int[] none = prompt(random, 2);
            Pools.store(pool, C, none);
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(pool.chain(C, none)).noneMatch(tier::contains).allMatch(pool::contains);
            assertThat(pool.use(C).refused()).isPositive();
            for (BlockKey key : pool.chain(B, other)) {
                tier.remove(key, RemovalCause.REMOVED);
            }
            assertThat(pool.use(B)).isEqualTo(new TenantUse("b", 0, 0, TenantQuota.UNLIMITED, 0));
        }
    }
}
