// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is asked for a block by its key: whether it is there, pins and removal. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class KeyedOperationsTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.FAST);
    private static final Tenant OTHER = new Tenant("other", new byte[] {1});
    private static final BlockKey UNKNOWN = new BlockKey(1, 2, 3, 4);

    private final SplittableRandom random = new SplittableRandom(11);
    private final AtomicLong clock = new AtomicLong(1);

    private LocalKvPool pool(int blocks) {
        return Pools.pool(IDENTITY, blocks, "lru", clock::incrementAndGet);
    }

    /** One token more than whole blocks, so that all of them may be reused. */
    private int[] prompt(int blocks) {
        return Pools.tokens(random, blocks * BLOCK_TOKENS + 1);
    }

    private static int held(LocalKvPool pool, Tenant tenant, int[] tokens) {
        try (LocalMatch match = pool.probe(tenant, tokens)) {
            return match.wholeBlocks();
        }
    }

    /** Stores blocks of other prompts until every block that can go has gone. */
    private void press(LocalKvPool pool) {
        for (int i = 0; i < 3 * pool.stats().capacityBlocks(); i++) {
            Pools.store(pool, Tenant.DEFAULT, prompt(1));
        }
    }

    @Test
    void contains_blockThatWouldGoNext_goesNextAllTheSame() {
        try (LocalKvPool pool = pool(3)) {
            int[] old = prompt(1);
            int[] young = prompt(1);
            Pools.store(pool, Tenant.DEFAULT, old);
            Pools.store(pool, Tenant.DEFAULT, young);
            Pools.store(pool, Tenant.DEFAULT, prompt(1));
            PoolStatistics before = pool.stats();
            BlockKey key = pool.chain(Tenant.DEFAULT, old).get(0);
            for (int i = 0; i < 10; i++) {
                assertThat(pool.contains(key)).isTrue();
                assertThat(pool.contains(UNKNOWN)).isFalse();
            }
            assertThat(pool.stats()).as("nothing is counted").isEqualTo(before);
            pool.forEachView(view -> assertThat(view.hits()).isZero());
            Pools.store(pool, Tenant.DEFAULT, prompt(1));
            assertThat(pool.contains(key)).as("the least recently used").isFalse();
            assertThat(held(pool, Tenant.DEFAULT, young)).isEqualTo(1);
        }
    }

    @Test
    void pinHard_blockOfAnyTenant_staysWithAllBeforeItUntilUnpinned() {
        try (LocalKvPool pool = pool(8)) {
            int[] tokens = prompt(4);
            Pools.store(pool, OTHER, tokens);
            BlockKey third = pool.chain(OTHER, tokens).get(2);
            assertThat(pool.pinHard(UNKNOWN)).isEqualTo(BlockOutcome.ABSENT);
            assertThat(pool.pinHard(third)).isEqualTo(BlockOutcome.DONE);
            assertThat(pool.pinHard(third)).as("again").isEqualTo(BlockOutcome.UNCHANGED);
            assertThat(pool.isPinnedHard(third)).isTrue();
            press(pool);
            assertThat(held(pool, OTHER, tokens)).as("the fourth could go").isEqualTo(3);
            assertThat(pool.unpin(third)).as("one is enough").isEqualTo(BlockOutcome.DONE);
            assertThat(pool.unpin(third)).isEqualTo(BlockOutcome.UNCHANGED);
            assertThat(pool.unpin(UNKNOWN)).isEqualTo(BlockOutcome.ABSENT);
            press(pool);
            assertThat(held(pool, OTHER, tokens)).isZero();
            assertThat(pool.pinHard(third)).isEqualTo(BlockOutcome.ABSENT);
        }
    }

    @Test
    void pinHard_everyBlock_leavesNoMemoryUntilOneIsUnpinned() {
        try (LocalKvPool pool = pool(2)) {
            int[] one = prompt(1);
            int[] two = prompt(1);
            for (int[] tokens : List.of(one, two)) {
                Pools.store(pool, Tenant.DEFAULT, tokens);
                pool.pinHard(pool.chain(Tenant.DEFAULT, tokens).get(0));
            }
            assertThat(Pools.store(pool, Tenant.DEFAULT, prompt(1))).isZero();
            pool.unpin(pool.chain(Tenant.DEFAULT, two).get(0));
            assertThat(Pools.store(pool, Tenant.DEFAULT, prompt(1))).isEqualTo(1);
            assertThat(held(pool, Tenant.DEFAULT, one)).isEqualTo(1);
        }
    }

    @Test
    void pinSoft_untilItsTime_keepsTheBlockAndThenDoesNot() {
        try (LocalKvPool pool = pool(4)) {
            int[] tokens = prompt(1);
            Pools.store(pool, OTHER, tokens);
            BlockKey key = pool.chain(OTHER, tokens).get(0);
            assertThat(pool.pinSoft(UNKNOWN, Duration.ofSeconds(1))).isEqualTo(BlockOutcome.ABSENT);
            assertThat(pool.pinSoft(key, Duration.ofSeconds(10))).isEqualTo(BlockOutcome.DONE);
            assertThat(pool.pinSoft(key, Duration.ofSeconds(1)))
                    .as("does not shorten it")
                    .isEqualTo(BlockOutcome.DONE);
            clock.addAndGet(Duration.ofSeconds(9).toNanos());
            press(pool);
            assertThat(pool.contains(key)).isTrue();
            clock.addAndGet(Duration.ofSeconds(2).toNanos());
            press(pool);
            assertThat(pool.contains(key)).isFalse();
        }
    }

    @Test
    void unpin_softPin_endsItBeforeItsTime() {
        try (LocalKvPool pool = pool(4)) {
            int[] tokens = prompt(1);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            BlockKey key = pool.chain(Tenant.DEFAULT, tokens).get(0);
            pool.pinSoft(key, Duration.ofSeconds(10));
            assertThat(pool.unpin(key)).isEqualTo(BlockOutcome.DONE);
            press(pool);
            assertThat(pool.contains(key)).isFalse();
        }
    }

    @ParameterizedTest
    @CsvSource({"PT0S", "PT-1S", "PT8760H0.000000001S"})
    void pinSoft_timeThatIsNone_isRefusedByName(Duration time) {
        try (LocalKvPool pool = pool(2)) {
            assertThatThrownBy(() -> pool.pinSoft(UNKNOWN, time))
                    .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.INVALID_ARGUMENT))
                    .hasMessageContaining("pin time: " + time);
            assertThatThrownBy(() -> pool.pinSoft(UNKNOWN, null)).hasMessageContaining("pin time: null");
        }
    }

    @Test
    void remove_block_goesWithWhatFollowsAndFreesTheMemory() {
        try (LocalKvPool pool = pool(16)) {
            int[] trunk = prompt(5);
            int[] branch = Arrays.copyOf(trunk, 6 * BLOCK_TOKENS + 1);
            // Parts inside of the fourth block: the tree has a twig there.
            branch[3 * BLOCK_TOKENS + 2] ^= 1;
            int[] side = Arrays.copyOf(trunk, 3 * BLOCK_TOKENS + 1);
            side[BLOCK_TOKENS] ^= 1;
            for (int[] tokens : List.of(trunk, branch, side)) {
                Pools.store(pool, OTHER, tokens);
            }
            assertThat(pool.stats().blocks()).isEqualTo(5 + 3 + 2);
            List<String> events = new ArrayList<>();
            pool.addListener(new BlockListener() {
                @Override
                public void onStored(StoredBlock block) {}

                @Override
                public void onRemoved(BlockKey key, long generation, RemovalCause cause) {
                    events.add(key + " " + cause);
                }
            });
            List<BlockKey> chain = pool.chain(OTHER, trunk);
            assertThat(pool.remove(chain.get(2), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            assertThat(pool.remove(chain.get(2), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.ABSENT);
            assertThat(held(pool, OTHER, trunk)).isEqualTo(2);
            assertThat(held(pool, OTHER, branch)).isEqualTo(2);
            assertThat(held(pool, OTHER, side)).isEqualTo(3);
            for (BlockKey key : chain.subList(2, 5)) {
                assertThat(pool.contains(key)).isFalse();
                assertThat(pool.pin(key)).isNull();
            }
            assertThat(pool.stats().removed()).isEqualTo(6);
            assertThat(pool.stats().freeBlocks()).isEqualTo(16 - 4);
            assertThat(events).hasSize(6).last().isEqualTo(chain.get(2) + " REMOVED");
            assertThat(Pools.store(pool, OTHER, trunk)).as("can come again").isEqualTo(3);
            assertThat(held(pool, OTHER, trunk)).isEqualTo(5);
        }
    }

    @Test
    void remove_parkedBlocks_goWithTheOneTheyWaitFor() {
        try (LocalKvPool pool = pool(8)) {
            int[] tokens = prompt(4);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            for (int i : new int[] {3, 2}) {
                int[] own = Arrays.copyOfRange(tokens, i * BLOCK_TOKENS, (i + 1) * BLOCK_TOKENS);
                try (IncomingBlock in = pool.beginIncoming(chain.get(i), chain.get(i - 1), i, own, Tenant.DEFAULT)) {
                    Pools.fill(Pools.view(in.address(), in.length()), pool.layout(), "default", in.key());
                    in.commit(SsdTierKeysTest.checksums(pool, in.address()));
                }
            }
            assertThat(pool.stats().blocks()).isEqualTo(2);
            assertThat(pool.remove(chain.get(2), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            assertThat(pool.stats().freeBlocks()).isEqualTo(8);
        }
    }

    @Test
    void remove_leasedBlock_isGoneForOthersAndWholeForItsReader() {
        try (LocalKvPool pool = pool(2)) {
            int[] tokens = prompt(2);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            PinnedBlock pin = pool.pin(chain.get(1));
            try (PrefixLease lease = pool.acquire(Tenant.DEFAULT, tokens)) {
                assertThat(pool.remove(chain.get(0), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
                assertThat(held(pool, Tenant.DEFAULT, tokens)).isZero();
                assertThat(pool.pin(chain.get(1))).as("for new readers").isNull();
                assertThat(pool.isCurrent(pin.offset(), pin.length(), pin.generation()))
                        .as("for a peer that reads")
                        .isTrue();
                assertThat(Pools.store(pool, Tenant.DEFAULT, prompt(2)))
                        .as("no memory yet")
                        .isZero();
                assertThat(Pools.isFilled(lease.block(0), pool.layout(), "default", chain.get(0)))
                        .isTrue();
                assertThat(pool.verify(pin)).isTrue();
            }
            assertThat(pool.stats().freeBlocks()).as("the first block's").isEqualTo(1);
            pin.close();
            assertThat(pool.isCurrent(pin.offset(), pin.length(), pin.generation()))
                    .isFalse();
            assertThat(pool.stats().freeBlocks()).isEqualTo(2);
            assertThat(Pools.store(pool, Tenant.DEFAULT, prompt(2))).isEqualTo(2);
        }
    }

    @Test
    void remove_hardPinBehind_isRefusedAndChangesNothing() {
        try (LocalKvPool pool = pool(4)) {
            int[] tokens = prompt(3);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            pool.pinSoft(chain.get(2), Duration.ofHours(1));
            pool.pinHard(chain.get(1));
            assertThat(pool.remove(chain.get(0), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.PINNED);
            assertThat(held(pool, Tenant.DEFAULT, tokens)).isEqualTo(3);
            pool.unpin(chain.get(1));
            assertThat(pool.remove(chain.get(0), RemovalCause.REMOVED))
                    .as("a soft pin ends")
                    .isEqualTo(BlockOutcome.DONE);
            assertThat(pool.stats().freeBlocks()).isEqualTo(4);
        }
    }

    @Test
    void remove_whatAnOpenWriterStoresBehind_isNotStored() {
        try (LocalKvPool pool = pool(4)) {
            int[] tokens = prompt(3);
            try (PrefixLease hit = pool.acquire(Tenant.DEFAULT, tokens);
                    BlockWriter writer = pool.extend(Tenant.DEFAULT, hit, tokens)) {
                writer.next();
                assertThat(writer.publish()).isEqualTo(1);
                writer.next();
                pool.remove(pool.chain(Tenant.DEFAULT, tokens).get(0), RemovalCause.REMOVED);
                assertThat(writer.publish()).as("there would be a hole").isZero();
                assertThat(writer.hasNext()).isFalse();
            }
            assertThat(pool.stats().freeBlocks()).isEqualTo(4);
        }
    }

    @Test
    void close_withListener_tellsItOnceThatNothingIsHeld() {
        List<String> events = new ArrayList<>();
        LocalKvPool pool = pool(2);
        pool.addListener(new BlockListener() {
            @Override
            public void onStored(StoredBlock block, HeldIn where) {
                events.add("stored in " + where);
            }

            @Override
            public void onStored(StoredBlock block) {}

            @Override
            public void onClosed() {
                events.add("closed");
            }
        });
        Pools.store(pool, Tenant.DEFAULT, prompt(1));
        pool.close();
        pool.close();
        assertThat(events).containsExactly("stored in DRAM", "closed");
        assertThatThrownBy(() -> pool.remove(UNKNOWN, RemovalCause.REMOVED)).hasMessageContaining("closed");
        assertThatThrownBy(() -> pool.pinHard(UNKNOWN)).hasMessageContaining("closed");
    }
}
