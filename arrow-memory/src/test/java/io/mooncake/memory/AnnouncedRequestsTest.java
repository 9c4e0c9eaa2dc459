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
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.memory.util.MemoryUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the policy is told of look-ups, and when; and that the keys which are made for it are the right ones for all else. */
class AnnouncedRequestsTest {
    private static final long MILLI = 1_000_000;
    private static final int PROMPTS = 60;
    private static final long UNSEEN = -1;

    private final SplittableRandom random = new SplittableRandom(17);
    private final AtomicLong clock = new AtomicLong(1_000 * MILLI);

    private interface Served {
        void serve(LocalKvPool pool, int[] prompt);
    }

    /** What a block of no known request is worth after prompts that were asked for once each. */
    private double learned(Served served) {
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 64, "return-index", clock::get)) {
            for (int i = 0; i < PROMPTS; i++) {
                served.serve(pool, tokens(random, 4 * BLOCK_TOKENS + 3));
                clock.addAndGet(10_000 * MILLI);
            }
            pool.store().policy().hear();
            return pool.store().worth(new BlockKey(UNSEEN, 0, 0, 0), clock.get());
        }
    }

    private void fetch(LocalKvPool from, LocalKvPool to, BlockKey key) {
        try (PinnedBlock pin = from.pin(key);
                IncomingBlock in = to.beginIncoming(key, pin.parent(), pin.depth(), pin.tokens(), Tenant.DEFAULT)) {
            MemoryUtil.copyMemory(pin.address(), in.address(), pin.length());
            assertThat(in.commit(pin.layerChecksums())).isEqualTo(IncomingBlock.Outcome.STORED);
        }
    }

    /** They came because of the request, which is no return to them: else whatever is fetched would seem to return in no time. */
    @Test
    void match_blocksFetchedForIt_areLearnedFromAsIfWritten() {
        double written = learned((pool, prompt) -> store(pool, Tenant.DEFAULT, prompt));
        double fetched;
        try (LocalKvPool owner = pool(identity(ReuseMode.EXACT), 8)) {
            fetched = learned((pool, prompt) -> {
                store(owner, Tenant.DEFAULT, prompt);
                try (LocalMatch match = pool.match(Tenant.DEFAULT, prompt)) {
                    clock.addAndGet(2_000 * MILLI);
                    for (BlockKey key : owner.chain(Tenant.DEFAULT, prompt)) {
                        fetch(owner, pool, key);
                    }
                    match.extendLocally();
                    assertThat(match.wholeBlocks()).isEqualTo(4);
                    match.toLease(0, MissReason.NONE).close();
                }
            });
        }
        assertThat(fetched).isCloseTo(written, within(written / 20));
    }

    @Test
    void probe_beforeTheLookUp_isNoRequest() {
        double plain = learned((pool, prompt) -> store(pool, Tenant.DEFAULT, prompt));
        double probed = learned((pool, prompt) -> {
            for (int i = 0; i < 3; i++) {
                try (LocalMatch match = pool.probe(Tenant.DEFAULT, prompt)) {
                    assertThat(match.wholeBlocks()).isZero();
                    assertThat(match.chain()).isEqualTo(pool.chain(Tenant.DEFAULT, prompt));
                    assertThatThrownBy(() -> match.toLease(0, MissReason.NONE)).hasMessageContaining("no request");
                }
                clock.addAndGet(1_500 * MILLI);
            }
            store(pool, Tenant.DEFAULT, prompt);
            clock.addAndGet(-4_500 * MILLI);
        });
        assertThat(probed).isCloseTo(plain, within(plain / 100));
    }

    @ParameterizedTest
    @ValueSource(strings = {"lru", "return-index"})
    void chain_partOfThePromptIsCached_isThatOfItsTokens(String policy) {
        int[] prompt = tokens(random, 6 * BLOCK_TOKENS + 3);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 8, policy)) {
            store(pool, Tenant.DEFAULT, Arrays.copyOf(prompt, 3 * BLOCK_TOKENS));
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            try (LocalMatch match = pool.match(Tenant.DEFAULT, prompt)) {
                assertThat(match.wholeBlocks()).isEqualTo(3);
                assertThat(match.chain()).isEqualTo(chain);
                store(pool, Tenant.DEFAULT, prompt);
                match.extendLocally();
                assertThat(match.wholeBlocks()).isEqualTo(6);
                assertThat(match.chain()).isEqualTo(chain);
            }
            try (LocalMatch match = pool.match(Tenant.DEFAULT, Arrays.copyOf(prompt, BLOCK_TOKENS - 1))) {
                assertThat(match.chain()).isEmpty();
            }
        }
    }

    /** The keys that the look-up made are of its own tokens, whatever the caller writes or has done with its array. */
    @ParameterizedTest
    @ValueSource(strings = {"lru", "return-index"})
    void extend_otherTokensThanWereLookedUp_areStoredUnderTheirOwnKeys(String policy) {
        SplittableRandom seeded = Seeds.random("extend_otherTokens");
        for (int round = 0; round < Seeds.count(50, 2_000); round++) {
            try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 16, policy)) {
                int[] asked = tokens(seeded, seeded.nextInt(1, 8 * BLOCK_TOKENS));
                store(pool, Tenant.DEFAULT, Arrays.copyOf(asked, seeded.nextInt(1, asked.length + 1)));
                int[] array = asked.clone();
                try (LocalMatch match = pool.match(Tenant.DEFAULT, array)) {
                    match.chain();
                    PrefixLease lease = match.toLease(match.matchedTokens(), MissReason.NOT_CACHED);
                    int same = seeded.nextInt(lease.matchedTokens(), asked.length + 1);
                    int[] written = Arrays.copyOf(array, seeded.nextInt(Math.max(1, same), 9 * BLOCK_TOKENS));
                    for (int i = same; i < written.length; i++) {
                        written[i] = seeded.nextInt(Pools.VOCABULARY);
                    }
                    Arrays.fill(array, 0);
                    try (lease;
                            BlockWriter writer = pool.extend(lease, written)) {
                        while (writer.hasNext()) {
                            writer.next();
                        }
                        writer.publish();
                    }
                    assertThat(pool.chain(Tenant.DEFAULT, written)).allMatch(pool::contains);
                }
            }
        }
    }

    @Test
    void extend_emptyLeaseOfAnotherTenant_isStoredUnderTheWriters() {
        int[] prompt = tokens(random, 3 * BLOCK_TOKENS + 1);
        Tenant other = new Tenant("other", new byte[] {1, 2, 3});
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 16, "return-index");
                PrefixLease lease = pool.acquire(prompt, soon());
                BlockWriter writer = pool.extend(other, lease, prompt)) {
            while (writer.hasNext()) {
                writer.next();
            }
            writer.publish();
            assertThat(pool.chain(other, prompt)).allMatch(pool::contains);
            assertThat(pool.chain(Tenant.DEFAULT, prompt)).noneMatch(pool::contains);
        }
    }
}
