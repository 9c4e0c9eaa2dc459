// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.block.ChainKeys;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Walks over what is held, page by page, while it changes. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class PoolWalkTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.FAST);
    private static final Tenant OTHER = new Tenant("other", new byte[] {1});

    @TempDir
    Path folder;

    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

    private static int[] prompt(SplittableRandom random, int blocks) {
        return Pools.tokens(random, blocks * BLOCK_TOKENS + 1);
    }

    private static void walk(LocalKvPool pool, SsdTier tier, int limit, Consumer<HeldBlock> visitor) {
        int at = 0;
        do {
            at = SsdTier.forEachHeld(pool, tier, at, limit, visitor);
        } while (at != LocalKvPool.WALK_END);
    }

    @Test
    void forEachSlot_pagesOfAnySize_showEachBlockOnceAsItIs() {
        SplittableRandom random = new SplittableRandom(3);
        int[] tokens = prompt(random, 5);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 12)) {
            Pools.store(pool, OTHER, tokens);
            Pools.store(pool, Tenant.DEFAULT, prompt(random, 2));
            List<BlockKey> chain = pool.chain(OTHER, tokens);
            pool.pinHard(chain.get(1));
            pool.pinSoft(chain.get(2), Duration.ofHours(1));
            for (int limit : new int[] {1, 5, 12, 1000, Integer.MAX_VALUE}) {
                try (PrefixLease lease = pool.acquire(OTHER, tokens)) {
                    Map<BlockKey, String> seen = new HashMap<>();
                    walk(pool, null, limit, block -> {
                        assertThat(block.tokenCount()).isEqualTo(BLOCK_TOKENS);
                        assertThat(block.bytes()).isEqualTo(pool.layout().payloadBytes());
                        assertThat(block.where()).isEqualTo(HeldIn.DRAM);
                        assertThat(block.idleNanos()).isNotNegative();
                        assertThat(new ChainKeys().next(block.parent(), block.tokens(), 0, BLOCK_TOKENS))
                                .isEqualTo(block.key());
                        String text = block.tenant() + " " + block.depth() + " " + block.leases() + " "
                                + block.isPinnedHard() + " " + block.isPinnedSoft() + " " + (block.hits() > 0);
                        assertThat(seen.put(block.key(), text)).isNull();
                    });
                    assertThat(seen).hasSize(7);
                    assertThat(chain.stream().map(seen::get))
                            .containsExactly(
                                    "other 0 1 false false true",
                                    "other 1 1 true false true",
                                    "other 2 1 false true true",
                                    "other 3 1 false false true",
                                    "other 4 1 false false true");
                }
            }
            pool.forEachView(view -> assertThat(view.leases()).isZero());
            assertThatThrownBy(() -> pool.forEachSlot(-1, 1, block -> {})).hasMessageContaining("from: -1");
            assertThatThrownBy(() -> pool.forEachSlot(13, 1, block -> {})).hasMessageContaining("from: 13");
            assertThatThrownBy(() -> pool.forEachSlot(0, 0, block -> {})).hasMessageContaining("limit: 0");
        }
    }

    @Test
    void forEachSlot_whileTheChangeLockIsHeld_goesOn() throws Exception {
        try (LocalKvPool pool = Pools.pool(IDENTITY, 4)) {
            Pools.store(pool, OTHER, prompt(new SplittableRandom(4), 3));
            List<BlockKey> seen = new ArrayList<>();
            Thread walker = new Thread(() -> walk(pool, null, 2, block -> seen.add(block.key())));
            pool.store().change.lock();
            try {
                walker.start();
                walker.join(60_000);
                assertThat(walker.isAlive()).isFalse();
            } finally {
                pool.store().change.unlock();
            }
            assertThat(seen).hasSize(3);
        }
    }

    @Test
    void forEachSlot_whileBlocksComeAndGo_showsTheStableOnesAndNeverAHalf() throws Exception {
        SplittableRandom random = Seeds.random("pool walk");
        try (LocalKvPool pool = Pools.pool(IDENTITY, 24)) {
            whileOthersChange(pool, null, random, Seeds.count(300, 20_000));
        }
    }

    @Test
    void forEachHeld_whileBlocksMoveBetweenTiers_showsTheStableOnesAndNeverAHalf() throws Exception {
        SplittableRandom random = Seeds.random("tier walk");
        long bytes = 400L * LocalKvPool.blockStrideBytes(IDENTITY);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 24);
                SsdTier tier = SsdTier.open(
                        pool,
                        SsdTier.settings(pool, folder, "node-1", bytes)
                                .commitMillis(5)
                                .build(),
                        List.of())) {
            whileOthersChange(pool, tier, random, Seeds.count(150, 5_000));
        }
    }

    /** The stable blocks are read again and again, which brings them up where they are on the SSD. */
    private void whileOthersChange(LocalKvPool pool, SsdTier tier, SplittableRandom random, int walks)
            throws InterruptedException {
        int[] stable = prompt(random, 4);
        Pools.store(pool, OTHER, stable);
        Set<BlockKey> expected = new HashSet<>(pool.chain(OTHER, stable));
        if (tier == null) {
            expected.forEach(pool::pinHard);
        } else {
            assertThat(tier.flush(Pools.soon())).isTrue();
        }
        AtomicBoolean over = new AtomicBoolean();
        SplittableRandom others = random.split();
        Thread changer = new Thread(() -> change(pool, tier, stable, others, over));
        changer.start();
        try {
            for (int i = 0; i < walks && failures.isEmpty(); i++) {
                Set<BlockKey> seen = new HashSet<>();
                walk(pool, tier, random.nextInt(1, 40), block -> {
                    seen.add(block.key());
                    if (!new ChainKeys()
                            .next(block.parent(), block.tokens(), 0, BLOCK_TOKENS)
                            .equals(block.key())) {
                        failures.add("half a block: " + block.key());
                    }
                });
                if (!seen.containsAll(expected)) {
                    failures.add("walk " + i + " missed a block that was there all the time");
                }
            }
        } finally {
            over.set(true);
            changer.join(60_000);
        }
        assertThat(changer.isAlive()).isFalse();
        assertThat(failures).isEmpty();
        if (tier == null) { // else its writer may hold one
            pool.forEachView(view -> assertThat(view.leases()).isZero());
        }
    }

    private void change(LocalKvPool pool, SsdTier tier, int[] stable, SplittableRandom random, AtomicBoolean over) {
        try {
            List<int[]> stored = new ArrayList<>();
            while (!over.get()) {
                int[] tokens = prompt(random, random.nextInt(1, 8));
                Pools.store(pool, Tenant.DEFAULT, tokens);
                stored.add(tokens);
                if (stored.size() > 20) {
                    int[] old = stored.remove(random.nextInt(stored.size()));
                    BlockKey key = pool.chain(Tenant.DEFAULT, Arrays.copyOf(old, BLOCK_TOKENS))
                            .get(0);
                    if (tier == null) {
                        pool.remove(key, RemovalCause.REMOVED);
                    } else {
                        tier.remove(key, RemovalCause.REMOVED);
                    }
                }
                if (tier != null && random.nextInt(8) == 0) {
                    tier.pool().forTenant(OTHER).acquire(stable, Pools.soon()).close();
                }
            }
        } catch (RuntimeException | Error e) {
            failures.add(e.toString());
        }
    }
}
