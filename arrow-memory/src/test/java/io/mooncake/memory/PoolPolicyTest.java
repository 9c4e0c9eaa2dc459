// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.pool;
import static io.mooncake.memory.Pools.soon;
import static io.mooncake.memory.Pools.store;
import static io.mooncake.memory.Pools.tokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.policy.EvictionPolicy;
import io.mooncake.memory.policy.ModelPool;
import io.mooncake.memory.policy.Policies;
import io.mooncake.memory.policy.Request;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The pool keeps what its policy says. */
class PoolPolicyTest {
    private static final int BLOCKS = 24;

    private final SplittableRandom random = new SplittableRandom(11);
    private final AtomicLong clock = new AtomicLong(1_000_000_000L);

    static Stream<String> policies() {
        return Policies.names().stream();
    }

    /** Prompts of a few conversations that grow, beside such as come once. */
    private static int[] prompt(SplittableRandom random) {
        int talk = random.nextInt(8);
        int[] all = tokens(new SplittableRandom(talk), 8 * BLOCK_TOKENS);
        // Never whole blocks alone: the last would be written again, since its last token is not to be reused.
        int length = BLOCK_TOKENS * random.nextInt(1, 7) + random.nextInt(1, BLOCK_TOKENS);
        int[] prompt = Arrays.copyOf(all, length);
        if (random.nextInt(3) == 0) {
            int from = random.nextInt(length);
            for (int i = from; i < length; i++) {
                prompt[i] = random.nextInt(Pools.VOCABULARY);
            }
        }
        return prompt;
    }

    private static Set<Long> names(LocalKvPool pool) {
        Set<Long> names = new HashSet<>();
        pool.forEachBlock(block -> names.add(block.key().word0()));
        return names;
    }

    @ParameterizedTest
    @MethodSource("policies")
    void evict_randomRequests_keepsWhatThePolicyKeepsOfNames(String name) {
        SplittableRandom seeded = Seeds.random("evict_randomRequests " + name);
        ModelPool model = new ModelPool(Policies.byName(name, BLOCKS, clock::get), BLOCKS);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), BLOCKS, name, clock::get)) {
            assertThat(pool.evictionPolicy()).isEqualTo(name);
            for (int i = 0; i < Seeds.count(400, 20_000); i++) {
                clock.addAndGet(seeded.nextLong(1, 20_000_000_000L));
                serveBoth(pool, model, prompt(seeded));
                assertThat(names(pool)).as("after request " + i).isEqualTo(model.blocks());
            }
            assertThat(pool.stats().evicted()).isPositive();
            assertThat(pool.stats().notAdmitted() > 0).isEqualTo(name.equals("return-index"));
        }
    }

    /** The pool by tokens, the model by names: everything else they have to find by themselves. */
    private void serveBoth(LocalKvPool pool, ModelPool model, int[] prompt) {
        long now = clock.get();
        long[] keys = pool.chain(Tenant.DEFAULT, prompt).stream()
                .mapToLong(BlockKey::word0)
                .toArray();
        int reusable = pool.reusableTokens(prompt.length) / BLOCK_TOKENS;
        long[] announced = new long[(prompt.length - 1) / BLOCK_TOKENS + 1];
        new PromptChain(pool.root(Tenant.DEFAULT), 0, prompt, BLOCK_TOKENS).names(announced);
        assertThat(announced).startsWith(keys);
        Request request = Request.of(announced).withPromptTokens(prompt.length);
        List<Integer> held = model.acquire(Arrays.copyOf(keys, reusable), request, now);
        int found = held.size();
        try (PrefixLease hit = pool.acquire(prompt, soon());
                BlockWriter writer = pool.extend(hit, prompt)) {
            assertThat(hit.blockCount()).isEqualTo(found);
            while (writer.hasNext()) {
                writer.next();
                writer.publish(); // each before the next one's victim is chosen, as the model does
            }
        }
        model.extend(keys, held, now);
        model.leaseEnded(held.subList(0, found), now);
        model.release(held);
    }

    @Test
    void hasNext_blockNotWorthAPlace_isFalseForGoodAndCounted() {
        int[] talk = tokens(random, 4 * BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4, "return-index", clock::get)) {
            // Comes back every minute: worth more than what nobody has seen.
            for (int i = 0; i < 30; i++) {
                store(pool, Tenant.DEFAULT, talk);
                clock.addAndGet(60_000_000_000L);
            }
            pool.acquire(talk, soon()).close();
            int[] once = tokens(random, 2 * BLOCK_TOKENS + 1);
            int stored = store(pool, Tenant.DEFAULT, once);
            assertThat(stored).isLessThan(2);
            assertThat(pool.stats().notAdmitted()).isEqualTo(1);
            assertThat(pool.stats().allocationFailures()).isZero();
            try (PrefixLease hit = pool.acquire(once, soon());
                    BlockWriter writer = pool.extend(hit, once)) {
                long before = pool.stats().notAdmitted();
                assertThat(writer.hasNext()).isFalse();
                assertThat(writer.hasNext()).isFalse();
                assertThat(pool.stats().notAdmitted()).as("asked once").isEqualTo(before + 1);
                assertThatThrownBy(writer::next).hasMessageContaining("hasNext");
                assertThat(writer.publish()).isZero();
            }
            // What is fetched is needed now, whatever it is worth.
            BlockKey key = pool.chain(Tenant.DEFAULT, once).get(0);
            if (!pool.contains(key)) {
                try (IncomingBlock in = pool.beginIncoming(
                        key, pool.root(Tenant.DEFAULT), 0, Arrays.copyOf(once, BLOCK_TOKENS), Tenant.DEFAULT)) {
                    assertThat(in).isNotNull();
                }
            }
        }
    }

    /** What is there already is not judged again: before, a refusal there cost all that follows it. */
    @Test
    void hasNext_blockIsThereAlready_isNotRefused() {
        int[] talk = tokens(random, 4 * BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 5, "return-index", clock::get)) {
            for (int i = 0; i < 30; i++) {
                store(pool, Tenant.DEFAULT, talk);
                clock.addAndGet(60_000_000_000L);
            }
            pool.acquire(talk, soon()).close();
            int[] once = tokens(random, BLOCK_TOKENS);
            assertThat(store(pool, Tenant.DEFAULT, once))
                    .as("into the free slot")
                    .isEqualTo(1);
            try (PrefixLease none = pool.withoutLookup();
                    BlockWriter writer = pool.extend(none, once)) {
                assertThat(writer.hasNext()).isTrue();
                writer.next();
                assertThat(writer.publish()).isEqualTo(1);
            }
            assertThat(pool.stats().notAdmitted()).isZero();
            assertThat(pool.stats().evicted()).isZero();
            assertThat(pool.stats().blocks()).isEqualTo(5);
        }
    }

    @Test
    void hasNext_anotherTierBelow_refusesNothing() {
        int[] talk = tokens(random, 4 * BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4, "return-index", clock::get)) {
            pool.store().admitAll();
            for (int i = 0; i < 30; i++) {
                store(pool, Tenant.DEFAULT, talk);
                clock.addAndGet(60_000_000_000L);
            }
            assertThat(store(pool, Tenant.DEFAULT, tokens(random, 4 * BLOCK_TOKENS)))
                    .isEqualTo(4);
            assertThat(pool.stats().notAdmitted()).isZero();
        }
    }

    /** Else whoever stores next, perhaps hours later, would hold the lock until all of them are learned from. */
    @Test
    void acquire_onlyHits_areHeardWithoutAStore() {
        int[] talk = tokens(random, 20 * BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), BLOCKS, "return-index", clock::get)) {
            store(pool, Tenant.DEFAULT, talk);
            EvictionPolicy policy = pool.store().policy();
            long name = pool.chain(Tenant.DEFAULT, talk).get(0).word0();
            double before = policy.worth(name, clock.get());
            for (int i = 0; i < 50; i++) {
                clock.addAndGet(30_000_000_000L);
                pool.acquire(talk, soon()).close();
            }
            assertThat(policy.worth(name, clock.get())).as("few requests wait").isEqualTo(before);
            for (int i = 0; i < 100; i++) {
                clock.addAndGet(30_000_000_000L);
                pool.acquire(talk, soon()).close();
            }
            assertThat(policy.worth(name, clock.get())).isNotEqualTo(before);
        }
    }

    @Test
    void create_unknownPolicy_namesItAndTheChoices() {
        KvIdentity identity = identity(ReuseMode.EXACT);
        try (MemoryRegion region = MemoryRegion.allocate(1 << 20)) {
            for (String name : List.of("", "LRU", "clock")) {
                assertThatThrownBy(() -> LocalKvPool.create("x", identity, 10, region, 0, 1 << 20, name))
                        .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                                .isEqualTo(MooncakeException.Code.INVALID_ARGUMENT))
                        .hasMessageContaining("policy: " + name + " (expected: one of [lru, lfu, ");
            }
            LocalKvPool.create("x", identity, 10, region, 0, 1 << 20).close();
        }
    }

    @Test
    void acquire_badHints_areRefusedByName() {
        assertThatThrownBy(() -> new RequestHints(-2, 1)).hasMessageContaining("turn: -2");
        assertThatThrownBy(() -> new RequestHints(0, 0)).hasMessageContaining("blockCost: 0.0");
        assertThatThrownBy(() -> new RequestHints(0, Double.NaN)).hasMessageContaining("blockCost: NaN");
        assertThatThrownBy(() -> new RequestHints(0, 1e39)).hasMessageContaining("blockCost: 1.0E39");
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4, "return-index");
                PrefixLease lease = pool.acquire(tokens(random, 20), soon(), new RequestHints(3, 2.5))) {
            assertThatThrownBy(() -> lease.answered(-1)).hasMessageContaining("outputTokens: -1");
            lease.answered(0);
        }
    }
}
