// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.ssd.SsdAccess;
import io.mooncake.memory.ssd.SsdSettings;
import io.mooncake.memory.ssd.SsdStore;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Pins and removal through both tiers, and what listeners hear of where a block is. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SsdTierKeysTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.EXACT);
    private static final int STRIDE = (int) LocalKvPool.blockStrideBytes(IDENTITY);

    @TempDir
    Path folder;

    private final SplittableRandom random = new SplittableRandom(5);

    /** Where each block is by the events; what has gone, with the reason. */
    private static final class Places implements BlockListener {
        final Map<BlockKey, HeldIn> held = Collections.synchronizedMap(new HashMap<>());
        final Map<BlockKey, RemovalCause> gone = Collections.synchronizedMap(new HashMap<>());
        final List<String> wrong = Collections.synchronizedList(new ArrayList<>());

        @Override
        public void onStored(StoredBlock block) {}

        @Override
        public void onStored(StoredBlock block, HeldIn where) {
            if (held.put(block.key(), where) != null) {
                wrong.add("stored twice");
            }
        }

        @Override
        public void onTierChanged(BlockKey key, long generation, HeldIn where) {
            HeldIn before = held.put(key, where);
            if (before == null || before == where) {
                wrong.add("from " + before + " to " + where);
            }
        }

        @Override
        public void onRemoved(BlockKey key, long generation, RemovalCause cause) {
            if (held.remove(key) == null) {
                wrong.add("removed twice");
            }
            gone.put(key, cause);
        }
    }

    static int[] checksums(LocalKvPool pool, long address) {
        int[] crcs = new int[pool.layout().layers()];
        for (int layer = 0; layer < crcs.length; layer++) {
            crcs[layer] = BlockDescriptor.layerCrc(address, pool.layout(), layer);
        }
        return crcs;
    }

    private SsdTier open(LocalKvPool pool, int ssdBlocks, BlockListener... listeners) {
        return SsdTier.open(pool, settings(pool, ssdBlocks), List.of(listeners));
    }

    private SsdSettings settings(LocalKvPool pool, int ssdBlocks) {
        return SsdTier.settings(pool, folder, "node-1", (long) ssdBlocks * STRIDE)
                .segmentBytes(16L * STRIDE)
                .commitMillis(5)
                .scrubBytesPerSecond(0)
                .build();
    }

    /** Stores it, and waits until no writer of the tier holds any of it: what is held can't go for another. */
    private static void store(LocalKvPool pool, SsdTier tier, int[] tokens) {
        Pools.store(pool, Tenant.DEFAULT, tokens);
        assertThat(tier.flush(Pools.soon())).isTrue();
    }

    private int[] prompt(int blocks) {
        return Pools.tokens(random, blocks * Pools.BLOCK_TOKENS + 1);
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean() && System.nanoTime() - end < 0) {
            Thread.sleep(1);
        }
        assertThat(condition.getAsBoolean()).isTrue();
    }

    @Test
    void listener_blockThatMovesBetweenTiers_hearsEachPlace() throws Exception {
        Places places = new Places();
        int[] tokens = prompt(2);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 4);
                SsdTier tier = open(pool, 64, places)) {
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            await(() -> places.held.get(chain.get(1)) == HeldIn.DRAM_AND_SSD);
            // Its writers hold blocks until they are through: none of the four places can go before.
            assertThat(tier.flush(Pools.soon())).isTrue();
            Pools.store(pool, Tenant.DEFAULT, prompt(4));
            await(() -> places.held.get(chain.get(0)) == HeldIn.SSD && places.held.get(chain.get(1)) == HeldIn.SSD);
            assertThat(tier.flush(Pools.soon())).isTrue();
            try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                assertThat(hit.blockCount()).isEqualTo(2);
                await(() -> places.held.get(chain.get(1)) == HeldIn.DRAM_AND_SSD);
            }
            assertThat(places.wrong).isEmpty();
            tier.close(Pools.soon());
        }
        Places again = new Places();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 4);
                SsdTier tier = open(pool, 64, again)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(again.held).hasSize(6).allSatisfy((key, where) -> assertThat(where)
                    .isEqualTo(HeldIn.SSD));
        }
    }

    @Test
    void remove_blockInBothTiersAndBelow_isInNeitherAndDoesNotComeBack() throws Exception {
        Places places = new Places();
        int[] tokens = prompt(4);
        List<BlockKey> chain;
        try (LocalKvPool pool = Pools.pool(IDENTITY, 6);
                SsdTier tier = open(pool, 64, places)) {
            chain = pool.chain(Tenant.DEFAULT, tokens);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            assertThat(tier.flush(Pools.soon())).isTrue();
            // The end of the chain is on the SSD alone.
            Pools.store(pool, Tenant.DEFAULT, prompt(4));
            await(() -> places.held.get(chain.get(3)) == HeldIn.SSD);
            assertThat(tier.remove(chain.get(1), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            assertThat(tier.remove(chain.get(1), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.ABSENT);
            try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                assertThat(hit.blockCount()).isEqualTo(1);
            }
            for (BlockKey key : chain.subList(1, 4)) {
                assertThat(tier.contains(key) || pool.contains(key)).isFalse();
                await(() -> places.gone.get(key) == RemovalCause.REMOVED);
            }
            assertThat(places.wrong).isEmpty();
            tier.close(Pools.soon());
        }
        try (LocalKvPool pool = Pools.pool(IDENTITY, 6);
                SsdTier tier = open(pool, 64)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(tier.contains(chain.get(0))).isTrue();
            assertThat(chain.subList(1, 4)).noneMatch(tier::contains);
        }
    }

    @Test
    void remove_whileItIsWritten_leavesNothingOnTheSsd() throws Exception {
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = open(pool, 64)) {
            // The writer is somewhere between the offer and the commit each time.
            for (int i = 0; i < 40; i++) {
                int[] tokens = prompt(3);
                Pools.store(pool, Tenant.DEFAULT, tokens);
                BlockKey first = pool.chain(Tenant.DEFAULT, tokens).get(0);
                assertThat(tier.remove(first, RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            }
            assertThat(tier.flush(Pools.soon())).isTrue();
            await(() -> tier.statistics().blocks() == 0 && pool.stats().freeBlocks() == 16);
            assertThat(tier.onlyOnSsd()).isEmpty();
        }
    }

    @Test
    void remove_pinnedBlockBehindABlockOnTheSsd_isRefused() throws Exception {
        int[] tokens = prompt(2);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8);
                SsdTier tier = open(pool, 64)) {
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            store(pool, tier, tokens);
            store(pool, tier, prompt(8));
            tier.pin(List.of(chain.get(1)), Pools.soon()).forEach(pin -> {
                assertThat(tier.pinHard(chain.get(1))).isEqualTo(BlockOutcome.DONE);
                pin.close();
            });
            assertThat(pool.contains(chain.get(0))).isFalse();
            assertThat(tier.remove(chain.get(0), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.PINNED);
            assertThat(chain).allMatch(tier::contains);
            pool.unpin(chain.get(1));
            assertThat(tier.remove(chain.get(0), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            assertThat(chain).noneMatch(key -> tier.contains(key) || pool.contains(key));
        }
    }

    @Test
    void remove_blockThatTheSsdRefused_takesWhatFollowsItThere() throws Exception {
        int[] tokens = prompt(2);
        SsdAccess device = new SsdAccess();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 2);
                SsdTier tier = SsdTier.over(
                        pool, device.open(settings(pool, 64)), block -> block.depth() == 1, 64, List.of())) {
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            store(pool, tier, tokens);
            store(pool, tier, prompt(1));
            assertThat(pool.contains(chain.get(0)) && !tier.contains(chain.get(0)))
                    .isTrue();
            assertThat(!pool.contains(chain.get(1)) && tier.contains(chain.get(1)))
                    .isTrue();
            assertThat(tier.remove(chain.get(0), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            assertThat(tier.contains(chain.get(1))).isFalse();
            // And where neither has the first.
            store(pool, tier, tokens);
            store(pool, tier, prompt(2));
            assertThat(pool.contains(chain.get(0))).isFalse();
            assertThat(tier.remove(chain.get(0), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            assertThat(tier.contains(chain.get(1))).isFalse();
        }
    }

    @Test
    void remove_readBetweenBothTiers_doesNotComeBack() throws Exception {
        int[] tokens = prompt(1);
        ExecutorService reader = Executors.newSingleThreadExecutor();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8);
                SsdTier tier = open(pool, 64)) {
            BlockKey key = pool.chain(Tenant.DEFAULT, tokens).get(0);
            store(pool, tier, tokens);
            pool.addListener(new BlockListener() {
                @Override
                public void onStored(StoredBlock block) {}

                @Override
                public void onRemoved(BlockKey gone, long generation) {
                    // Memory has lost it; somebody asks for it before the removal has returned.
                    Future<Integer> found = reader.submit(() -> {
                        try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                            return hit.blockCount();
                        }
                    });
                    try {
                        found.get(60, TimeUnit.SECONDS);
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                }
            });
            assertThat(tier.remove(key, RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            assertThat(pool.contains(key) || tier.contains(key)).isFalse();
            assertThat(pool.stats().listenerErrors()).isZero();
        } finally {
            reader.shutdownNow();
        }
    }

    @Test
    void remove_anotherBlockWhileOneIsBroughtUpAndLeavesTheSsd_keepsIt() throws Exception {
        int[] tokens = prompt(1);
        BlockKey other = new BlockKey(1, 2, 3, 4);
        SsdAccess device = new SsdAccess();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 2)) {
            SsdStore store = device.open(settings(pool, 64));
            try (SsdTier tier = SsdTier.over(pool, store, block -> true, 64, List.of())) {
                BlockKey key = pool.chain(Tenant.DEFAULT, tokens).get(0);
                store(pool, tier, tokens);
                store(pool, tier, prompt(2));
                assertThat(pool.contains(key)).isFalse();
                pool.addListener(block -> {
                    if (block.key().equals(key)) {
                        // It is in memory by now, and its reader has not returned.
                        tier.remove(other, RemovalCause.REMOVED);
                        store.remove(key);
                    }
                });
                try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                    assertThat(hit.blockCount()).isEqualTo(1);
                }
                assertThat(pool.contains(key)).isTrue();
            }
        }
    }

    @Test
    void pinHard_blockOfAFullSsd_staysOnItWhileOthersLeave() throws Exception {
        int[] tokens = prompt(1);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = open(pool, 16)) {
            BlockKey key = pool.chain(Tenant.DEFAULT, tokens).get(0);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            assertThat(tier.pinHard(key)).isEqualTo(BlockOutcome.DONE);
            assertThat(tier.pinHard(key)).isEqualTo(BlockOutcome.UNCHANGED);
            await(() -> tier.contains(key));
            for (int i = 0; i < 60; i++) {
                Pools.store(pool, Tenant.DEFAULT, prompt(1));
                if (i % 10 == 0) {
                    assertThat(tier.flush(Pools.soon())).isTrue();
                }
            }
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(tier.statistics().evicted()).isPositive();
            assertThat(tier.contains(key)).isTrue();
            assertThat(pool.contains(key)).isTrue();
        }
    }
}
