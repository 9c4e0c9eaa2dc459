// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.isFilled;
import static io.mooncake.memory.Pools.pool;
import static io.mooncake.memory.Pools.soon;
import static io.mooncake.memory.Pools.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.IncomingBlock.Outcome;
import io.mooncake.memory.block.BlockDescriptor;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Blocks that come in any order, as from peers and from an SSD, and prompts that part from cached ones at any token. */
class PoolArrivalTest {
    private static final int THREADS = 4;
    private static final List<Tenant> TENANTS = List.of(Tenant.DEFAULT, new Tenant("a", new byte[] {1}));

    /** Brings block {@code at} of {@code prompt} from elsewhere; null: no memory. */
    private static Outcome arrive(LocalKvPool pool, Tenant tenant, int[] prompt, int at) {
        List<BlockKey> chain = pool.chain(tenant, prompt);
        BlockKey parent = at == 0 ? pool.root(tenant) : chain.get(at - 1);
        int[] own = Arrays.copyOfRange(prompt, at * BLOCK_TOKENS, (at + 1) * BLOCK_TOKENS);
        try (IncomingBlock in = pool.beginIncoming(chain.get(at), parent, at, own, tenant)) {
            if (in == null) {
                return null;
            }
            Pools.fill(Pools.view(in.address(), in.length()), pool.layout(), tenant.name(), in.key());
            int[] crcs = new int[pool.layout().layers()];
            for (int layer = 0; layer < crcs.length; layer++) {
                crcs[layer] = BlockDescriptor.layerCrc(in.address(), pool.layout(), layer);
            }
            return in.commit(crcs);
        }
    }

    /** Few distinct tokens, so that prompts share beginnings. */
    private static int[] prompt(SplittableRandom random, int blocks) {
        int[] prompt = random.ints((long) blocks * BLOCK_TOKENS + random.nextInt(BLOCK_TOKENS), 0, 2)
                .toArray();
        for (int i = 0; i < prompt.length; i++) {
            prompt[i] = i % BLOCK_TOKENS < BLOCK_TOKENS - 2 ? i % 5 : prompt[i];
        }
        return prompt;
    }

    @Test
    void commit_childBeforeParent_isPinnedAtOnceAndAcquiredOnceTheParentIsThere() {
        SplittableRandom random = Seeds.random("commit_childBeforeParent");
        int[] prompt = Pools.tokens(random, 3 * BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4)) {
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            assertThat(arrive(pool, Tenant.DEFAULT, prompt, 2)).isEqualTo(Outcome.STORED);
            assertThat(arrive(pool, Tenant.DEFAULT, prompt, 1)).isEqualTo(Outcome.STORED);
            assertThat(arrive(pool, Tenant.DEFAULT, prompt, 2)).isEqualTo(Outcome.KEPT_EXISTING);
            try (PinnedBlock pin = pool.pin(chain.get(2));
                    PrefixLease lease = pool.acquire(prompt, soon())) {
                assertThat(pin.tokens()).containsExactly(Arrays.copyOfRange(prompt, 16, 24));
                assertThat(lease.matchedTokens()).isZero();
            }
            assertThat(arrive(pool, Tenant.DEFAULT, prompt, 0)).isEqualTo(Outcome.STORED);
            try (PrefixLease lease = pool.acquire(prompt, soon())) {
                assertThat(lease.matchedTokens()).isEqualTo(3 * BLOCK_TOKENS);
                for (int i = 0; i < 3; i++) {
                    assertThat(isFilled(lease.block(i), pool.layout(), "default", chain.get(i)))
                            .isTrue();
                }
            }
        }
    }

    /** Their parents never come: they make room for others, from the end of the chain on. */
    @Test
    void commit_parentNeverComes_evictedLikeOthers() {
        SplittableRandom random = Seeds.random("commit_parentNeverComes");
        int[] prompt = Pools.tokens(random, 4 * BLOCK_TOKENS);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 3)) {
            List<BlockKey> gone = new ArrayList<>();
            pool.addListener(new BlockListener() {
                @Override
                public void onStored(StoredBlock block) {}

                @Override
                public void onRemoved(BlockKey key, long generation) {
                    gone.add(key);
                }
            });
            for (int at = 1; at < 4; at++) {
                assertThat(arrive(pool, Tenant.DEFAULT, prompt, at)).isEqualTo(Outcome.STORED);
            }
            assertThat(store(pool, Tenant.DEFAULT, Pools.tokens(random, 3 * BLOCK_TOKENS)))
                    .isEqualTo(3);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            assertThat(gone).containsExactly(chain.get(3), chain.get(2), chain.get(1));
            assertThat(pool.store().index.parked()).isZero();
        }
    }

    /** After each arrival, a look-up finds exactly the blocks that are there without a gap from the first on. */
    @ParameterizedTest
    @EnumSource(ReuseMode.class)
    void acquire_arrivalsInAnyOrder_findsTheLongestPrefixToTheToken(ReuseMode mode) {
        SplittableRandom random = Seeds.random("acquire_arrivalsInAnyOrder " + mode);
        int parts = 0;
        for (int round = 0; round < Seeds.count(8, 2_000); round++) {
            List<int[]> prompts = new ArrayList<>();
            List<int[]> arrivals = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                int blocks = random.nextInt(1, 5);
                prompts.add(prompt(random, blocks));
                for (int at = 0; at < blocks; at++) {
                    arrivals.add(random.nextInt(arrivals.size() + 1), new int[] {i, at});
                }
            }
            try (LocalKvPool pool = pool(identity(mode), arrivals.size())) {
                Set<BlockKey> there = new HashSet<>();
                List<int[]> prefixes = new ArrayList<>();
                for (int[] arrival : arrivals) {
                    int[] prompt = prompts.get(arrival[0]);
                    BlockKey key = pool.chain(Tenant.DEFAULT, prompt).get(arrival[1]);
                    assertThat(arrive(pool, Tenant.DEFAULT, prompt, arrival[1]))
                            .isEqualTo(there.add(key) ? Outcome.STORED : Outcome.KEPT_EXISTING);
                    prefixes.add(Arrays.copyOf(prompt, (arrival[1] + 1) * BLOCK_TOKENS));
                    int[] asked = prompt(random, random.nextInt(1, 5));
                    int expected = longest(pool, there, prefixes, asked);
                    try (PrefixLease lease = pool.acquire(asked, soon());
                            LocalMatch match = pool.match(Tenant.DEFAULT, asked)) {
                        assertThat(lease.matchedTokens()).isEqualTo(expected);
                        check(pool, Tenant.DEFAULT, lease, asked);
                        assertThat(match.chain()).isEqualTo(pool.chain(Tenant.DEFAULT, asked));
                    }
                    parts += expected % BLOCK_TOKENS == 0 ? 0 : 1;
                }
            }
        }
        assertThat(parts > 0).isEqualTo(mode == ReuseMode.FAST);
    }

    /** By hand: the blocks of {@code asked} that are there in a row, and the most that any block behind them shares with what follows. */
    private static int longest(LocalKvPool pool, Set<BlockKey> there, List<int[]> prefixes, int[] asked) {
        int limit = pool.reusableTokens(asked.length);
        List<BlockKey> chain = pool.chain(Tenant.DEFAULT, asked);
        int whole = 0;
        while ((whole + 1) * BLOCK_TOKENS <= limit && there.contains(chain.get(whole))) {
            whole++;
        }
        int from = whole * BLOCK_TOKENS;
        int part = 0;
        for (int[] prefix : prefixes) {
            if (prefix.length == from + BLOCK_TOKENS && Arrays.equals(prefix, 0, from, asked, 0, from)) {
                int mismatch = Arrays.mismatch(prefix, from, prefix.length, asked, from, limit);
                part = Math.max(part, mismatch < 0 ? limit - from : mismatch);
            }
        }
        return from + (pool.identity().mode() == ReuseMode.FAST ? part : 0);
    }

    /** Every byte is of a block whose tokens begin with those asked for; what is wrong, or null. */
    private static String wrong(LocalKvPool pool, Tenant tenant, PrefixLease lease, int[] asked) {
        for (int i = 0; i < lease.blockCount(); i++) {
            var header = pool.store().header(((LocalLease) lease).slot(i));
            int[] own = BlockDescriptor.tokens(header, pool.layout());
            int end = Math.min((i + 1) * BLOCK_TOKENS, lease.matchedTokens());
            boolean same = Arrays.equals(own, 0, lease.blockTokens(i), asked, i * BLOCK_TOKENS, end);
            if (!same || !isFilled(lease.block(i), pool.layout(), tenant.name(), BlockDescriptor.key(header))) {
                return "block " + i + " of " + Arrays.toString(asked) + ": " + Arrays.toString(own);
            }
        }
        return null;
    }

    private static void check(LocalKvPool pool, Tenant tenant, PrefixLease lease, int[] asked) {
        assertThat(wrong(pool, tenant, lease, asked)).isNull();
    }

    /** Threads look up, store, bring blocks of any place in a chain and pin them, in a pool too small for all of it. */
    @Test
    void use_arrivalsInAnyOrderBesideEvictions_servesOnlyWhatWasAskedFor() throws Exception {
        SplittableRandom random = Seeds.random("use_arrivalsInAnyOrder");
        ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
        LongAdder matched = new LongAdder();
        LongAdder arrived = new LongAdder();
        int blocks = 12;
        try (LocalKvPool pool = pool(identity(ReuseMode.FAST), blocks)) {
            int uses = Seeds.count(1_500, 150_000);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                SplittableRandom mine = random.split();
                Thread thread = new Thread(() -> {
                    try {
                        for (int use = 0; use < uses && failures.isEmpty(); use++) {
                            use(pool, mine, failures, matched, arrived);
                        }
                    } catch (RuntimeException | Error e) {
                        StringWriter text = new StringWriter();
                        e.printStackTrace(new PrintWriter(text));
                        failures.add(text.toString());
                    }
                });
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join(Seeds.count(120_000, 600_000));
                assertThat(thread.isAlive()).isFalse();
            }
            assertThat(failures).isEmpty();
            assertThat(matched.sum()).isPositive();
            assertThat(arrived.sum()).isPositive();
            PoolStatistics stats = pool.stats();
            assertThat(stats.evicted()).isPositive();
            assertThat(stats.stored() - stats.evicted()).isEqualTo(stats.blocks());
            assertThat(stats.blocks() + stats.freeBlocks()).isEqualTo(blocks);
            assertThat(stats.openLeases()).isZero();
            // Nothing is stuck: one prompt, which shares no token with others, can have every block.
            int[] all = new int[blocks * BLOCK_TOKENS];
            Arrays.fill(all, Pools.VOCABULARY - 1);
            assertThat(store(pool, Tenant.DEFAULT, all)).isEqualTo(blocks);
            assertThat(pool.store().index.parked()).isZero();
        }
    }

    private static void use(
            LocalKvPool pool,
            SplittableRandom random,
            ConcurrentLinkedQueue<String> failures,
            LongAdder matched,
            LongAdder arrived) {
        Tenant tenant = TENANTS.get(random.nextInt(TENANTS.size()));
        int[] prompt = prompt(random, random.nextInt(1, 5));
        int at = random.nextInt(prompt.length / BLOCK_TOKENS);
        switch (random.nextInt(4)) {
            case 0 -> {
                Outcome outcome = arrive(pool, tenant, prompt, at);
                arrived.add(outcome == Outcome.STORED ? 1 : 0);
                if (outcome != null && outcome != Outcome.STORED && outcome != Outcome.KEPT_EXISTING) {
                    failures.add("commit: " + outcome);
                }
            }
            case 1 -> {
                BlockKey key = pool.chain(tenant, prompt).get(at);
                try (PinnedBlock pin = pool.pin(key)) {
                    if (pin != null
                            && !isFilled(Pools.view(pin.address(), pin.length()), pool.layout(), tenant.name(), key)) {
                        failures.add("pin of " + key);
                    }
                }
            }
            case 2 -> store(pool, tenant, prompt);
            default -> {
                try (PrefixLease lease = pool.acquire(tenant, prompt)) {
                    matched.add(lease.matchedTokens());
                    String wrong = wrong(pool, tenant, lease, prompt);
                    if (wrong != null) {
                        failures.add(wrong);
                    }
                }
            }
        }
    }
}
