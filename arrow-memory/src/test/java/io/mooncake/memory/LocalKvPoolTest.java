// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.isFilled;
import static io.mooncake.memory.Pools.pool;
import static io.mooncake.memory.Pools.soon;
import static io.mooncake.memory.Pools.store;
import static io.mooncake.memory.Pools.tokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.arrow.memory.ArrowBuf;
import org.junit.jupiter.api.Test;

class LocalKvPoolTest {
    private final SplittableRandom random = new SplittableRandom(7);

    @Test
    void acquire_emptyPool_missesWithReason() {
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4);
                PrefixLease lease = pool.acquire(tokens(random, 20), soon())) {
            assertThat(lease.matchedTokens()).isZero();
            assertThat(lease.blockCount()).isZero();
            assertThat(lease.missReason()).isEqualTo(MissReason.NOT_CACHED);
        }
    }

    @Test
    void acquire_exactMode_reusesWholeBlocksAndNeverTheLastToken() {
        int[] prompt = tokens(random, 3 * BLOCK_TOKENS);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 8)) {
            assertThat(store(pool, Tenant.DEFAULT, prompt)).isEqualTo(3);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            try (PrefixLease lease = pool.acquire(prompt, soon())) {
                assertThat(lease.matchedTokens()).isEqualTo(2 * BLOCK_TOKENS);
                assertThat(lease.localTokens()).isEqualTo(2 * BLOCK_TOKENS);
                assertThat(lease.remoteTokens()).isZero();
                assertThat(lease.missReason()).isEqualTo(MissReason.NONE);
                assertThat(lease.blockTokens(1)).isEqualTo(BLOCK_TOKENS);
                for (int i = 0; i < 2; i++) {
                    assertThat(lease.block(i).readableBytes())
                            .isEqualTo(pool.layout().payloadBytes());
                    assertThat(isFilled(lease.block(i), pool.layout(), "default", chain.get(i)))
                            .isTrue();
                }
            }
            int[] longer = Arrays.copyOf(prompt, prompt.length + 5);
            try (PrefixLease lease = pool.acquire(longer, soon())) {
                assertThat(lease.matchedTokens()).isEqualTo(3 * BLOCK_TOKENS);
            }
        }
    }

    @Test
    void acquire_fastMode_matchesToTheToken() {
        int[] prompt = tokens(random, 3 * BLOCK_TOKENS);
        try (LocalKvPool pool = pool(identity(ReuseMode.FAST), 8)) {
            store(pool, Tenant.DEFAULT, prompt);
            try (PrefixLease lease = pool.acquire(prompt, soon())) {
                assertThat(lease.matchedTokens()).isEqualTo(prompt.length - 1);
                assertThat(lease.blockCount()).isEqualTo(3);
                assertThat(lease.blockTokens(2)).isEqualTo(BLOCK_TOKENS - 1);
                assertThat(lease.missReason()).isEqualTo(MissReason.NONE);
            }
            int[] forked = prompt.clone();
            forked[BLOCK_TOKENS + 3] = (forked[BLOCK_TOKENS + 3] + 1) % Pools.VOCABULARY;
            try (PrefixLease lease = pool.acquire(forked, soon())) {
                assertThat(lease.matchedTokens()).isEqualTo(BLOCK_TOKENS + 3);
                assertThat(lease.blockTokens(1)).isEqualTo(3);
                assertThat(lease.missReason()).isEqualTo(MissReason.NOT_CACHED);
            }
        }
    }

    @Test
    void extend_partialMatch_startsBehindWholeBlocks() {
        int[] prompt = tokens(random, 2 * BLOCK_TOKENS);
        int[] forked = prompt.clone();
        forked[BLOCK_TOKENS + 2] = (forked[BLOCK_TOKENS + 2] + 1) % Pools.VOCABULARY;
        try (LocalKvPool pool = pool(identity(ReuseMode.FAST), 8)) {
            store(pool, Tenant.DEFAULT, prompt);
            try (PrefixLease hit = pool.acquire(forked, soon());
                    BlockWriter writer = pool.extend(hit, forked)) {
                assertThat(hit.matchedTokens()).isEqualTo(BLOCK_TOKENS + 2);
                assertThat(writer.blockIndex()).isEqualTo(1);
                assertThat(writer.hasNext()).isTrue();
                writer.next();
                assertThat(writer.hasNext()).isFalse();
                assertThat(writer.publish()).isEqualTo(1);
            }
            assertThat(pool.stats().blocks()).isEqualTo(3);
        }
    }

    @Test
    void forTenant_otherSalt_sharesNothing() {
        int[] prompt = tokens(random, 20);
        Tenant a = new Tenant("a", new byte[] {1});
        Tenant b = new Tenant("b", new byte[] {2});
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 8)) {
            store(pool, a, prompt);
            try (PrefixLease mine = pool.forTenant(a).acquire(prompt, soon());
                    PrefixLease foreign = pool.forTenant(b).acquire(prompt, soon());
                    PrefixLease nobody = pool.acquire(prompt, soon())) {
                assertThat(mine.matchedTokens()).isEqualTo(16);
                assertThat(foreign.matchedTokens()).isZero();
                assertThat(nobody.matchedTokens()).isZero();
                assertThatThrownBy(() -> pool.forTenant(b).extend(mine, prompt))
                        .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                                .isEqualTo(Code.INVALID_ARGUMENT));
            }
        }
    }

    @Test
    void extend_leaseOfOtherTokens_isRefused() {
        int[] prompt = tokens(random, 20);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 8);
                LocalKvPool other = pool(identity(ReuseMode.EXACT), 8)) {
            store(pool, Tenant.DEFAULT, prompt);
            try (PrefixLease hit = pool.acquire(prompt, soon())) {
                assertThatThrownBy(() -> pool.extend(hit, tokens(random, 20))).hasMessageContaining("block 0");
                assertThatThrownBy(() -> pool.extend(hit, Arrays.copyOf(prompt, 9)))
                        .hasMessageContaining("block 1");
                assertThatThrownBy(() -> other.extend(hit, prompt)).hasMessageContaining("pool test");
            }
        }
    }

    @Test
    void close_unpublishedBlocks_areAbandoned() {
        int[] prompt = tokens(random, 30);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4)) {
            try (PrefixLease hit = pool.acquire(prompt, soon());
                    BlockWriter writer = pool.extend(hit, prompt)) {
                writer.next();
                writer.next();
                assertThat(writer.hasNext()).isTrue();
                assertThat(pool.stats().freeBlocks()).isEqualTo(1);
            }
            assertThat(pool.stats().freeBlocks()).isEqualTo(4);
            assertThat(pool.stats().blocks()).isZero();
        }
    }

    @Test
    void publish_existingKey_keepsExistingBlock() {
        int[] prompt = tokens(random, 20);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 8)) {
            store(pool, Tenant.DEFAULT, prompt);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            try (PrefixLease none = pool.withoutLookup();
                    BlockWriter writer = pool.extend(none, prompt)) {
                while (writer.hasNext()) {
                    writer.next().setZero(0, pool.layout().payloadBytes());
                }
                assertThat(writer.publish()).isEqualTo(2);
            }
            assertThat(pool.stats().blocks()).isEqualTo(2);
            assertThat(pool.stats().freeBlocks()).isEqualTo(6);
            try (PrefixLease hit = pool.acquire(prompt, soon())) {
                assertThat(isFilled(hit.block(0), pool.layout(), "default", chain.get(0)))
                        .isTrue();
            }
        }
    }

    /** The pool is full, and half of it leased: a block that is there already takes nobody's place and needs none. */
    @Test
    void hasNext_blocksAreThereAlready_evictsNothingAndIsTrue() {
        int[] prompt = tokens(random, 2 * BLOCK_TOKENS);
        int[] other = tokens(random, BLOCK_TOKENS);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 3)) {
            store(pool, Tenant.DEFAULT, prompt);
            store(pool, Tenant.DEFAULT, other);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            PinnedBlock last = pool.pin(chain.get(1));
            PinnedBlock leased = pool.pin(pool.chain(Tenant.DEFAULT, other).get(0));
            int[] longer = Arrays.copyOf(prompt, 3 * BLOCK_TOKENS);
            try (PrefixLease none = pool.withoutLookup();
                    BlockWriter writer = pool.extend(none, longer)) {
                for (int i = 0; i < 2; i++) {
                    assertThat(writer.hasNext()).isTrue();
                    assertThat(writer.blockIndex()).isEqualTo(i);
                    writer.next().setZero(0, pool.layout().payloadBytes());
                }
                assertThat(writer.hasNext()).as("nothing can go for a new one").isFalse();
                leased.close();
                assertThat(writer.publish()).isEqualTo(2);
                assertThat(pool.stats().evicted()).isZero();
                assertThat(writer.hasNext()).as("the other block can go now").isTrue();
                Pools.fill(
                        writer.next(),
                        pool.layout(),
                        "default",
                        pool.chain(Tenant.DEFAULT, longer).get(2));
                assertThat(writer.publish()).isEqualTo(1);
            }
            last.close();
            assertThat(pool.stats().stored()).isEqualTo(4);
            try (PrefixLease hit = pool.acquire(Arrays.copyOf(longer, 25), soon())) {
                assertThat(hit.blockCount()).isEqualTo(3);
                for (int i = 0; i < 2; i++) {
                    assertThat(isFilled(hit.block(i), pool.layout(), "default", chain.get(i)))
                            .as("what was written is dropped")
                            .isTrue();
                }
            }
            assertThat(pool.stats().openLeases()).isZero();
        }
    }

    @Test
    void hasNext_allLeased_isFalseAndAcquireStillAnswers() {
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 3)) {
            int[] prompt = tokens(random, 3 * BLOCK_TOKENS + 1);
            store(pool, Tenant.DEFAULT, prompt);
            int[] other = tokens(random, 20);
            try (PrefixLease all = pool.acquire(prompt, soon())) {
                assertThat(all.blockCount()).isEqualTo(3);
                try (PrefixLease miss = pool.acquire(other, soon());
                        BlockWriter writer = pool.extend(miss, other)) {
                    assertThat(writer.hasNext()).isFalse();
                    assertThatThrownBy(writer::next)
                            .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                                    .isEqualTo(Code.ILLEGAL_STATE));
                    assertThat(writer.publish()).isZero();
                }
                assertThat(pool.beginIncoming(
                                pool.root(Tenant.DEFAULT), pool.root(Tenant.DEFAULT), 0, new int[8], Tenant.DEFAULT))
                        .isNull();
                assertThat(pool.stats().evicted()).isZero();
                assertThat(pool.stats().allocationFailures()).isPositive();
            }
            assertThat(store(pool, Tenant.DEFAULT, other)).isEqualTo(2);
            assertThat(pool.stats().evicted()).isEqualTo(2);
        }
    }

    @Test
    void publish_chainLongerThanThePool_keepsItsBeginning() {
        int[] prompt = tokens(random, 5 * BLOCK_TOKENS);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 3)) {
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            int published = 0;
            try (PrefixLease none = pool.acquire(prompt, soon());
                    BlockWriter writer = pool.extend(none, prompt)) {
                while (writer.hasNext()) {
                    Pools.fill(writer.next(), pool.layout(), "default", chain.get(writer.blockIndex() - 1));
                    published += writer.publish();
                }
            }
            assertThat(published).isEqualTo(3);
            try (PrefixLease hit = pool.acquire(prompt, soon())) {
                assertThat(hit.blockCount()).isEqualTo(3);
            }
        }
    }

    @Test
    void evict_leastRecentlyUsedLeaf_goesFirst() {
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4)) {
            int[] a = tokens(random, 2 * BLOCK_TOKENS + 1);
            int[] b = tokens(random, 2 * BLOCK_TOKENS + 1);
            store(pool, Tenant.DEFAULT, a);
            store(pool, Tenant.DEFAULT, b);
            pool.acquire(a, soon()).close(); // b is the older one now
            int[] c = tokens(random, BLOCK_TOKENS + 1);
            store(pool, Tenant.DEFAULT, c);
            List<BlockKey> keysOfB = pool.chain(Tenant.DEFAULT, b);
            assertThat(pool.contains(keysOfB.get(1))).as("the leaf of b").isFalse();
            assertThat(pool.contains(keysOfB.get(0))).as("its parent").isTrue();
            store(pool, Tenant.DEFAULT, tokens(random, BLOCK_TOKENS + 1));
            assertThat(pool.contains(keysOfB.get(0))).as("a leaf by now").isFalse();
            assertThat(pool.chain(Tenant.DEFAULT, a)).allMatch(pool::contains);
        }
    }

    @Test
    void evict_onlyInnerBlockIsFree_staysUntilItsLeafIsReleased() {
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 2)) {
            int[] prompt = tokens(random, 2 * BLOCK_TOKENS + 1);
            store(pool, Tenant.DEFAULT, prompt);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            int[] other = tokens(random, BLOCK_TOKENS + 1);
            try (PinnedBlock leaf = pool.pin(chain.get(1))) {
                assertThat(store(pool, Tenant.DEFAULT, other)).as("no hole").isZero();
                assertThat(pool.stats().allocationFailures()).isPositive();
                assertThat(pool.beginIncoming(
                                pool.chain(Tenant.DEFAULT, other).get(0),
                                pool.root(Tenant.DEFAULT),
                                0,
                                Arrays.copyOf(other, BLOCK_TOKENS),
                                Tenant.DEFAULT))
                        .isNull();
                assertThat(pool.verify(leaf)).isTrue();
                try (PrefixLease hit = pool.acquire(prompt, soon())) {
                    assertThat(hit.matchedTokens()).isEqualTo(2 * BLOCK_TOKENS);
                }
            }
            assertThat(store(pool, Tenant.DEFAULT, other)).isEqualTo(1);
            assertThat(pool.contains(chain.get(0))).isTrue();
            assertThat(pool.contains(chain.get(1))).isFalse();
            assertThat(store(pool, Tenant.DEFAULT, prompt))
                    .as("one place, and its parent is held")
                    .isEqualTo(1);
        }
    }

    @Test
    void block_viewKeptAfterClose_refusesEachAccess() {
        int[] prompt = tokens(random, 2 * BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4)) {
            store(pool, Tenant.DEFAULT, prompt);
            ArrowBuf view;
            ArrowBuf slice;
            try (PrefixLease lease = pool.acquire(prompt, soon())) {
                view = lease.block(1);
                slice = lease.block(0).slice(8, 16);
                assertThat(view.getByte(0)).isEqualTo(lease.block(1).getByte(0));
                assertThat(slice.getByte(0)).isEqualTo(lease.block(0).getByte(8));
                assertThatThrownBy(view::close)
                        .isInstanceOf(MooncakeException.class)
                        .hasMessageContaining("borrowed");
                assertThatThrownBy(() -> view.getReferenceManager().retain())
                        .isInstanceOf(MooncakeException.class)
                        .hasMessageContaining("borrowed");
            }
            assertThat(view.refCnt()).isZero();
            assertThatThrownBy(() -> view.getByte(0)).isInstanceOf(RuntimeException.class);
            assertThatThrownBy(() -> slice.getByte(0)).isInstanceOf(RuntimeException.class);
        }
    }

    @Test
    void next_viewKeptAfterPublish_refusesWritesToTheSealedBlock() {
        int[] prompt = tokens(random, 2 * BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4)) {
            ArrowBuf second;
            try (PrefixLease lease = pool.acquire(prompt, soon());
                    BlockWriter writer = pool.extend(lease, prompt)) {
                ArrowBuf first = writer.next();
                first.setByte(0, 1);
                writer.publish();
                assertThatThrownBy(() -> first.setByte(0, 2)).isInstanceOf(RuntimeException.class);
                second = writer.next();
                second.setByte(0, 3);
            }
            assertThatThrownBy(() -> second.setByte(0, 4)).isInstanceOf(RuntimeException.class);
        }
    }

    @Test
    void close_leaseTwice_releasesOnce() {
        int[] prompt = tokens(random, 20);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 2)) {
            store(pool, Tenant.DEFAULT, prompt);
            PrefixLease first = pool.acquire(prompt, soon());
            PrefixLease second = pool.acquire(prompt, soon());
            first.close();
            first.close();
            assertThat(store(pool, Tenant.DEFAULT, tokens(random, 20))).isZero();
            assertThatThrownBy(() -> first.block(0))
                    .isInstanceOfSatisfying(
                            MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.ILLEGAL_STATE));
            assertThatThrownBy(() -> pool.extend(first, prompt)).hasMessageContaining("closed");
            assertThatThrownBy(() -> second.block(2)).hasMessageContaining("0..1");
            second.close();
        }
    }

    @Test
    void listener_storeAndEvict_hearsBothInOrder() {
        List<String> heard = new ArrayList<>();
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 2)) {
            pool.addListener(new BlockListener() {
                @Override
                public void onStored(StoredBlock block) {
                    heard.add("+" + block.key().hex().substring(0, 8) + " " + block.depth() + " " + block.generation()
                            + " " + block.tenant());
                    assertThat(block.tokens()).hasSize(BLOCK_TOKENS);
                    pool.contains(block.key());
                    pool.acquire(new int[] {1, 2}, soon()).close();
                }

                @Override
                public void onRemoved(BlockKey key, long generation) {
                    heard.add("-" + key.hex().substring(0, 8) + " " + generation);
                    throw new IllegalStateException("listeners may fail");
                }
            });
            int[] a = tokens(random, 20);
            int[] b = tokens(random, 10);
            store(pool, Tenant.DEFAULT, a);
            store(pool, Tenant.DEFAULT, b);
            List<BlockKey> keys = new ArrayList<>(pool.chain(Tenant.DEFAULT, a));
            keys.addAll(pool.chain(Tenant.DEFAULT, b));
            String[] names = keys.stream().map(k -> k.hex().substring(0, 8)).toArray(String[]::new);
            assertThat(heard)
                    .containsExactly(
                            "+" + names[0] + " 0 1 default",
                            "+" + names[1] + " 1 1 default",
                            "-" + names[1] + " 1",
                            "+" + names[2] + " 0 2 default");
            assertThat(pool.stats().listenerErrors()).isEqualTo(1);
            List<BlockKey> seen = new ArrayList<>();
            pool.forEachBlock(block -> seen.add(block.key()));
            assertThat(seen).containsExactlyInAnyOrder(keys.get(0), keys.get(2));
        }
    }

    @Test
    void forEachView_pinnedAndHitBlock_showsIt() {
        int[] prompt = tokens(random, 20);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4)) {
            store(pool, Tenant.DEFAULT, prompt);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
            try (PrefixLease lease = pool.acquire(prompt, soon());
                    PinnedBlock pin = pool.pin(chain.get(1))) {
                assertThat(pin.parent()).isEqualTo(chain.get(0));
                List<BlockView> views = new ArrayList<>();
                pool.forEachView(views::add);
                assertThat(views).hasSize(2).allSatisfy(view -> {
                    assertThat(view.hits()).isEqualTo(1);
                    assertThat(view.tier()).isEqualTo("DRAM");
                    assertThat(view.bytes()).isEqualTo(pool.layout().payloadBytes());
                    assertThat(view.lastAccessAgeNanos()).isBetween(0L, 60_000_000_000L);
                    assertThat(view.pinned()).isEqualTo(view.block().key().equals(chain.get(1)));
                    assertThat(view.leases()).isEqualTo(view.pinned() ? 2 : 1);
                });
                assertThat(lease.blockCount()).isEqualTo(2);
            }
        }
    }

    @Test
    void stats_lookups_countTokensAndReasons() {
        int[] prompt = tokens(random, 20);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4)) {
            store(pool, Tenant.DEFAULT, prompt);
            pool.acquire(prompt, soon()).close();
            pool.withoutLookup().close();
            try (LocalMatch match = pool.match(Tenant.DEFAULT, tokens(random, 20))) {
                match.toLease(0, MissReason.CHECKSUM).close();
            }
            PoolStatistics stats = pool.stats();
            assertThat(stats.lookups()).isEqualTo(4);
            assertThat(stats.requestedTokens()).isEqualTo(60);
            assertThat(stats.localTokens()).isEqualTo(16);
            assertThat(stats.misses())
                    .containsEntry(MissReason.NONE, 1L)
                    .containsEntry(MissReason.NOT_CACHED, 1L)
                    .containsEntry(MissReason.LOOKUP_DISABLED, 1L)
                    .containsEntry(MissReason.CHECKSUM, 1L);
            assertThat(stats.openLeases()).isZero();
        }
    }

    @Test
    void close_openHandles_reportsWhereTheyWereOpenedAndKeepsThemValid() {
        int[] prompt = tokens(random, 20);
        LocalKvPool pool = pool(identity(ReuseMode.EXACT), 4);
        store(pool, Tenant.DEFAULT, prompt);
        BlockKey key = pool.chain(Tenant.DEFAULT, prompt).get(0);
        PrefixLease lease = pool.acquire(prompt, soon());
        ArrowBuf block = lease.block(0);
        assertThatThrownBy(pool::close)
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("pool test: 1 open at close (expected: 0)")
                .hasMessageContaining("lease opened by thread")
                .hasMessageContaining("close_openHandles_reportsWhereTheyWereOpenedAndKeepsThemValid");
        assertThat(isFilled(block, pool.layout(), "default", key)).isTrue();
        assertThatThrownBy(() -> pool.acquire(prompt, soon()))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.ILLEGAL_STATE));
        lease.close();
        pool.close();
        assertThat(pool.stats().openLeases()).isZero();
    }

    @Test
    void create_badArguments_namesThem() {
        KvIdentity identity = identity(ReuseMode.EXACT);
        try (MemoryRegion region = MemoryRegion.allocate(1 << 20)) {
            assertThatThrownBy(() -> LocalKvPool.create("", identity, 10, region, 0, 1 << 20))
                    .hasMessageContaining("pool name");
            assertThatThrownBy(() -> LocalKvPool.create("x", identity, 0, region, 0, 1 << 20))
                    .hasMessageContaining("vocabulary: 0");
            assertThatThrownBy(() -> LocalKvPool.create("x", identity, 10, region, 0, 4096))
                    .hasMessageContaining("pool bytes: 4096");
            assertThatThrownBy(() -> LocalKvPool.create("x", identity, 10, region, 1, 1 << 19))
                    .hasMessageContaining("pool offset: 1");
            assertThatThrownBy(() -> LocalKvPool.create("x", identity, 10, region, 4096, 1 << 20))
                    .hasMessageContaining("pool bytes: 1048576");
            try (LocalKvPool first = LocalKvPool.create("x", identity, 10, region, 0, 1 << 19)) {
                assertThat(first.stats().capacityBlocks()).isEqualTo((1 << 19) / 8192);
                assertThatThrownBy(() -> LocalKvPool.create("y", identity, 10, region, 8192, 1 << 19))
                        .hasMessageContaining("overlap");
            }
            LocalKvPool.create("y", identity, 10, region, 8192, 1 << 19).close();
        }
    }
}
