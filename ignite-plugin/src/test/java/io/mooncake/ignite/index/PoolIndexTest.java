// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.feed.BlockEvent;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
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

    private static BlockEvent stored(BlockKey key) {
        return new BlockEvent(BlockEvent.Kind.STORED, key, key, 0, new int[] {1, 2, 3, 4});
    }

    @Test
    void store_indexIsFull_tellsOnceAndCountsAll() {
        AtomicInteger told = new AtomicInteger();
        PoolIndex index = new PoolIndex(IDENTITY, 10, told::incrementAndGet);
        HolderSink.Copy copy = index.sink(NODE).begin();
        copy.show();
        for (int i = 0; i < 10; i++) {
            copy.store(stored(key(i)));
            copy.store(stored(key(i)));
        }
        assertThat(told.get()).isZero();
        for (int i = 10; i < 15; i++) {
            copy.store(stored(key(i)));
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
            copy.store(stored(key(i)));
        }
        assertThat(index.refused()).isZero();
        assertThat(index.bytes()).isBetween(PoolIndex.bytes(entries) * 99 / 100, PoolIndex.bytes(entries));
    }
}
