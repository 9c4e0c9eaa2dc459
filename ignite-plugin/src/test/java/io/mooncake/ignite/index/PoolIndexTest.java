// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.feed.BlockEvent;
import io.mooncake.ignite.feed.BlockPlace;
import io.mooncake.ignite.feed.EventCursor;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.ignite.feed.RemovalCode;
import io.mooncake.ignite.index.PoolIndex.Run;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.ReuseMode;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PoolIndexTest {
    private static final KvIdentity IDENTITY = new KvIdentity(
            "a".repeat(64), "b".repeat(64), "", "test-1", "none", ReuseMode.EXACT, KvDataType.F32, 1, 1, 4, 4, 1, 0);
    private static final UUID NODE = new UUID(1, 1);

    private static BlockKey key(long i) {
        return new BlockKey(i * 0x9E3779B97F4A7C15L, i, ~i, 7);
    }

    private static void apply(HolderSink.Copy copy, BlockEvent event) {
        copy.apply(EventCursor.at(event));
    }

    private static BlockEvent stored(BlockKey key) {
        return BlockEvent.stored(key, key, 0, new int[] {1, 2, 3, 4});
    }

    @Test
    void store_indexIsFull_tellsOnceAndCountsAll() {
        AtomicInteger told = new AtomicInteger();
        PoolIndex index = new PoolIndex(IDENTITY, 10, told::incrementAndGet);
        HolderSink.Copy copy = index.sink(NODE).begin();
        copy.show();
        for (int i = 0; i < 10; i++) {
            apply(copy, stored(key(i)));
            apply(copy, stored(key(i)));
        }
        assertThat(told.get()).isZero();
        for (int i = 10; i < 15; i++) {
            apply(copy, stored(key(i)));
        }
        assertThat(told.get()).isEqualTo(1);
        assertThat(index.refused()).isEqualTo(5);
        assertThat(index.entries()).isEqualTo(10);
        assertThat(index.runs(List.of(key(9)), 0)).hasSize(1);
        assertThat(index.runs(List.of(key(10)), 0)).isEmpty();
    }

    @Test
    void bytes_ofAPlan_areWhatAFullIndexTakes() {
        int entries = 40_000;
        PoolIndex index = new PoolIndex(IDENTITY, entries);
        HolderSink.Copy copy = index.sink(NODE).begin();
        for (int i = 0; i < entries; i++) {
            apply(copy, stored(key(i)));
        }
        apply(copy, BlockEvent.removed(key(0), RemovalCode.EVICTED));
        apply(copy, stored(key(0)));
        assertThat(index.refused()).isZero();
        assertThat(index.bytes()).isBetween(PoolIndex.bytes(entries) * 99 / 100, PoolIndex.bytes(entries));
    }

    private static Run run(PoolIndex index, BlockKey... keys) {
        List<Run> runs = index.runs(List.of(keys), 0);
        assertThat(runs).hasSize(1);
        return runs.get(0);
    }

    @Test
    void apply_placesOfBlocks_areToldByRuns() {
        PoolIndex index = new PoolIndex(IDENTITY, 100);
        HolderSink.Copy copy = index.sink(NODE).begin();
        copy.show();
        for (int i = 0; i < 6; i++) {
            apply(copy, stored(key(i)));
        }
        BlockKey[] keys = {key(0), key(1), key(2), key(3), key(4), key(5)};
        assertThat(run(index, keys)).isEqualTo(new Run(NODE, 6, 0));
        apply(copy, BlockEvent.placed(key(1), BlockPlace.SSD));
        apply(copy, BlockEvent.placed(key(2), BlockPlace.SSD));
        apply(copy, BlockEvent.placed(key(3), BlockPlace.BOTH));
        apply(copy, BlockEvent.placed(key(5), BlockPlace.SSD));
        assertThat(run(index, keys)).isEqualTo(new Run(NODE, 6, 3));
        assertThat(index.entries()).isEqualTo(6);
        apply(copy, BlockEvent.placed(key(4), BlockPlace.FILLING));
        assertThat(run(index, keys)).isEqualTo(new Run(NODE, 4, 2));
        assertThat(index.runs(List.of(key(4)), 0)).isEmpty();
        apply(copy, BlockEvent.placed(key(4), BlockPlace.MEMORY));
        apply(copy, BlockEvent.placed(key(2), BlockPlace.MEMORY));
        assertThat(run(index, keys)).isEqualTo(new Run(NODE, 6, 2));
    }

    @Test
    void runs_sameLength_holderInMemoryComesFirst() {
        PoolIndex index = new PoolIndex(IDENTITY, 100);
        for (int i = 1; i <= 7; i++) {
            HolderSink.Copy copy = index.sink(new UUID(0, i)).begin();
            copy.show();
            apply(
                    copy,
                    BlockEvent.stored(
                            key(1), key(0), 0, new int[] {1, 2, 3, 4}, i == 4 ? BlockPlace.MEMORY : BlockPlace.SSD));
        }
        List<Run> runs = index.runs(List.of(key(1)), 0);
        assertThat(runs).hasSize(7);
        assertThat(runs.get(0)).isEqualTo(new Run(new UUID(0, 4), 1, 0));
        assertThat(runs.subList(1, 7)).allMatch(run -> run.ssdBlocks() == 1);
    }

    @Test
    void whyGone_lastHolderGone_tellsItsCause() throws InterruptedException {
        PoolIndex index = new PoolIndex(IDENTITY, 1_000);
        HolderSink.Copy first = index.sink(NODE).begin();
        HolderSink.Copy second = index.sink(new UUID(2, 2)).begin();
        first.show();
        second.show();
        for (int i = 0; i < 5; i++) {
            apply(first, stored(key(i)));
        }
        apply(second, stored(key(0)));
        apply(first, BlockEvent.removed(key(0), RemovalCode.EVICTED));
        assertThat(index.whyGone(key(0))).isEmpty();
        apply(second, BlockEvent.removed(key(0), RemovalCode.REMOVED));
        assertThat(index.whyGone(key(0))).contains(MissReason.REMOVED);
        apply(first, BlockEvent.removed(key(1), RemovalCode.EVICTED));
        assertThat(index.whyGone(key(1))).contains(MissReason.EVICTED);
        apply(first, BlockEvent.removed(key(2), RemovalCode.UNKNOWN));
        assertThat(index.whyGone(key(2))).isEmpty();
        apply(first, stored(key(1)));
        assertThat(index.whyGone(key(1))).isEmpty();
        first.lose();
        // Both before and after its entries are cleared.
        assertThat(index.whyGone(key(3))).contains(MissReason.NODE_LOST);
        index.awaitSwept();
        assertThat(index.whyGone(key(3))).contains(MissReason.NODE_LOST);
        assertThat(index.whyGone(key(99))).isEmpty();
        apply(second, stored(key(4)));
        second.drop();
        index.awaitSwept();
        assertThat(index.whyGone(key(4))).contains(MissReason.NODE_LOST);
    }
}
