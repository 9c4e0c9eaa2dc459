// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which block leaves the SSD, and which one is not written to it, by what they are worth. */
final class TierCatalogTest {
    private static final BlockKey ROOT = new BlockKey(0, 0, 0, 0);

    private final Map<BlockKey, Double> worths = new HashMap<>();
    private long now;
    private final List<BlockKey> offered = new ArrayList<>();
    private final Set<BlockKey> pinned = new HashSet<>();
    private final TierCatalog catalog = new TierCatalog(
            offered::add,
            List.of(),
            (key, lastUse) -> worths.getOrDefault(key, 0.0),
            () -> ++now,
            pinned::contains,
            new TenantAccount(""));

    private static StoredBlock block(long number, BlockKey parent, int depth) {
        return new StoredBlock(new BlockKey(number, 1, 2, 3), parent, depth, new int[0], number, "");
    }

    /** A chain that only the SSD has; its end was lost by memory first, as memory loses them. */
    private List<StoredBlock> chain(long first, int length, double worth) {
        List<StoredBlock> chain = new ArrayList<>();
        BlockKey parent = ROOT;
        for (int i = 0; i < length; i++) {
            StoredBlock block = block(first + i, parent, i);
            worths.put(block.key(), worth);
            catalog.onStored(block);
            catalog.written(block, () -> true);
            chain.add(block);
            parent = block.key();
        }
        for (int i = length - 1; i >= 0; i--) {
            catalog.onRemoved(chain.get(i).key(), 0);
        }
        return chain;
    }

    @Test
    void recovered_blockOfAChainThatWasRemovedAndStoredAgain_staysWithIt() {
        int[] tokens = Pools.tokens(new SplittableRandom(1), 49);
        try (LocalKvPool pool = Pools.pool(Pools.identity(ReuseMode.EXACT), 8)) {
            List<BlockKey> keys = pool.chain(Tenant.DEFAULT, tokens);
            catalog.recoveryBegins();
            catalog.remove(keys.get(0), RemovalCause.REMOVED, pool.operations(), key -> true);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            StoredBlock first = new StoredBlock(keys.get(0), ROOT, 0, new int[0], 1, "");
            StoredBlock second = new StoredBlock(keys.get(1), keys.get(0), 1, new int[0], 1, "");
            catalog.onStored(first);
            catalog.onStored(second);

            assertThat(catalog.recovered(second, () -> true, pool.operations(), key -> true))
                    .isTrue();

            assertThat(pool.contains(keys.get(1))).isTrue();
        }
    }

    @Test
    void takeVictim_chainOfLeastWorth_getsShorterFromItsEnd() {
        List<StoredBlock> old = chain(100, 3, 2.0);
        List<StoredBlock> poor = chain(200, 3, 1.0);
        List<StoredBlock> young = chain(300, 3, 3.0);
        for (int i = 2; i >= 0; i--) {
            assertThat(catalog.takeVictim(key -> {})).isEqualTo(poor.get(i).key());
        }
        worths.put(young.get(2).key(), 0.5);
        assertThat(catalog.takeVictim(key -> {}))
                .as("worth less by now")
                .isEqualTo(young.get(2).key());
        assertThat(catalog.takeVictim(key -> {})).isEqualTo(old.get(2).key());
    }

    @Test
    void takeVictim_allOfOneWorth_goesByTime() {
        List<StoredBlock> old = chain(100, 3, 1.0);
        List<StoredBlock> young = chain(200, 3, 1.0);
        List<BlockKey> gone = new ArrayList<>();
        for (BlockKey key = catalog.takeVictim(it -> {}); key != null; key = catalog.takeVictim(it -> {})) {
            gone.add(key);
        }
        assertThat(gone)
                .containsExactly(
                        old.get(2).key(),
                        old.get(1).key(),
                        old.get(0).key(),
                        young.get(2).key(),
                        young.get(1).key(),
                        young.get(0).key());
    }

    @Test
    void takeVictim_worthLessButInMemoryToo_stays() {
        List<StoredBlock> chain = chain(100, 2, 2.0);
        StoredBlock both = block(200, ROOT, 0);
        worths.put(both.key(), 1.0);
        catalog.onStored(both);
        catalog.written(both, () -> true);
        assertThat(catalog.takeVictim(key -> {})).isEqualTo(chain.get(1).key());
        assertThat(catalog.takeVictim(key -> {})).isEqualTo(chain.get(0).key());
        assertThat(catalog.takeVictim(key -> {})).as("nothing else is left").isEqualTo(both.key());
        assertThat(catalog.takeVictim(key -> {})).isNull();
    }

    @Test
    void admits_blockWorthLessThanTheOneThatWouldGo_isRefusedWithWhatFollows() {
        chain(100, 2, 2.0);
        StoredBlock poor = block(200, ROOT, 0);
        StoredBlock next = block(201, poor.key(), 1);
        StoredBlock rich = block(300, ROOT, 0);
        worths.put(poor.key(), 1.0);
        worths.put(next.key(), 1.0);
        worths.put(rich.key(), 2.0);
        for (StoredBlock block : List.of(poor, next, rich)) {
            catalog.onStored(block);
        }
        assertThat(catalog.admits(poor)).isFalse();
        assertThat(catalog.admits(next)).isFalse();
        assertThat(catalog.admits(rich)).isTrue();
        catalog.onRemoved(next.key(), 0);
        catalog.onRemoved(poor.key(), 0);
        assertThat(catalog.lost()).as("nothing that should have been written").isZero();
    }

    @Test
    void admits_whatFollowsARefusedBlockIsWorthItNow_asksForBothAgain() {
        chain(100, 4, 2.0);
        StoredBlock first = block(200, ROOT, 0);
        StoredBlock second = block(201, first.key(), 1);
        StoredBlock third = block(202, second.key(), 2);
        List.of(first, second, third).forEach(catalog::onStored);
        assertThat(catalog.admits(first)).isFalse();
        assertThat(catalog.admits(second)).isFalse();
        offered.clear();
        worths.put(third.key(), 9.0);
        assertThat(catalog.admits(third)).isFalse();
        assertThat(offered).containsExactly(first.key(), second.key(), third.key());
        for (StoredBlock block : List.of(first, second, third)) {
            assertThat(catalog.admits(block)).isTrue();
            catalog.written(block, () -> true);
        }
        assertThat(offered).hasSize(3);
    }

    @Test
    void admits_whatItFollowsHasGone_isRefused() {
        chain(100, 4, 2.0);
        StoredBlock first = block(200, ROOT, 0);
        StoredBlock second = block(201, first.key(), 1);
        List.of(first, second).forEach(catalog::onStored);
        assertThat(catalog.admits(first)).isFalse();
        catalog.onRemoved(first.key(), 0);
        offered.clear();
        worths.put(second.key(), 9.0);
        assertThat(catalog.admits(second)).isFalse();
        assertThat(offered).isEmpty();
    }

    /** The first blocks of all prompts follow one root. With a search among them this takes minutes. */
    @Test
    @Timeout(60)
    void allGone_manyFirstBlocks_takesEachOutAtOnce() {
        int count = 200_000;
        for (int i = 0; i < count; i++) {
            catalog.written(block(i, ROOT, 0), () -> true);
        }
        assertThat(catalog.ssdBlocks()).isEqualTo(count);
        catalog.allGone();
        assertThat(catalog.ssdBlocks()).isZero();
        assertThat(catalog.takeVictim(key -> {})).isNull();
    }

    @Test
    void gone_writtenAgainMeanwhile_stays() {
        StoredBlock block = chain(100, 1, 1.0).get(0);
        assertThat(catalog.gone(block.key(), () -> false)).isFalse();
        assertThat(catalog.onSsd(block.key())).isTrue();
        assertThat(catalog.gone(block.key(), () -> true)).isTrue();
        assertThat(catalog.onSsd(block.key())).isFalse();
    }

    @Test
    void takeVictim_randomChains_takesLittleOfWorthAndLeavesNoHole() {
        SplittableRandom random = Seeds.random("victims");
        Map<BlockKey, StoredBlock> there = new HashMap<>();
        Map<BlockKey, Double> last = new HashMap<>();
        for (int i = 0; i < 60; i++) {
            // One worth a chain, which has a branch sometimes.
            List<StoredBlock> chain = chain(1_000L * i + 1, 1 + random.nextInt(20), random.nextDouble());
            chain.forEach(block -> there.put(block.key(), block));
            StoredBlock tail = chain.get(chain.size() - 1);
            StoredBlock branch = block(1_000L * i + 500, tail.parent(), tail.depth());
            worths.put(branch.key(), worths.get(tail.key()));
            catalog.written(branch, () -> true);
            there.put(branch.key(), branch);
        }
        int blocks = there.size();
        double[] sorted =
                there.keySet().stream().mapToDouble(worths::get).sorted().toArray();
        while (there.size() > blocks / 2) {
            BlockKey gone = catalog.takeVictim(key -> {});
            there.remove(gone);
            last.put(gone, worths.get(gone));
            Set<BlockKey> parents = new HashSet<>();
            there.values().forEach(block -> parents.add(block.parent()));
            assertThat(parents).doesNotContain(gone);
        }
        assertThat(catalog.ssdBlocks()).isEqualTo(there.size());
        double stay = there.keySet().stream().mapToDouble(worths::get).average().orElse(0);
        double gone =
                last.values().stream().mapToDouble(worth -> worth).average().orElse(1);
        // What they were if all were looked at, and chains had no order.
        double best = Arrays.stream(sorted, 0, last.size()).average().orElse(1);
        double rest = Arrays.stream(sorted, last.size(), blocks).average().orElse(0);
        System.out.printf("victims: %.3f gone (%.3f at best), %.3f stay (%.3f)%n", gone, best, stay, rest);
        assertThat(gone).isLessThan(best + 0.05);
        assertThat(stay).isGreaterThan(rest - 0.05);
    }

    @Test
    void admits_pinnedBlockOfWhichNothingWasHeardYet_getsAPlace() {
        chain(100, 2, 2.0);
        StoredBlock poor = block(200, ROOT, 0);
        worths.put(poor.key(), 1.0);
        assertThat(catalog.admits(poor)).isFalse();
        pinned.add(poor.key());
        assertThat(catalog.admits(poor)).isTrue();
    }

    @Test
    void up_blockRemovedWhileItIsWritten_isRefusedUntilTheWriteIsOver() {
        try (LocalKvPool pool = Pools.pool(Pools.identity(ReuseMode.EXACT), 2)) {
            BlockKey key = block(1, ROOT, 0).key();
            TierTransits.Transit write = catalog.down(key);
            TierTransits.Transit read = catalog.up(key);
            assertThat(read).isNotNull();
            catalog.remove(key, RemovalCause.REMOVED, pool.operations(), it -> false);
            assertThat(read.removed()).isTrue();
            catalog.end(read);
            assertThat(catalog.up(key)).as("what is half written").isNull();
            catalog.end(write);
            read = catalog.up(key);
            assertThat(read).isNotNull();
            assertThat(read.removed()).isFalse();
            catalog.end(read);
        }
    }

    @Test
    void takeVictim_pinnedBlocks_arePassedOver() {
        List<StoredBlock> both = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            StoredBlock block = block(1000 + i, ROOT, 0);
            catalog.onStored(block);
            catalog.written(block, () -> true);
            both.add(block);
            if (i != 150) {
                pinned.add(block.key());
            }
        }
        BlockKey victim = null;
        for (int i = 0; victim == null && i < 4; i++) {
            victim = catalog.takeVictim(key -> {});
        }
        assertThat(victim).isEqualTo(both.get(150).key());
        assertThat(catalog.takeVictim(key -> {})).isNull();
        pinned.clear();
        assertThat(catalog.takeVictim(key -> {})).isNotNull();
    }
}
