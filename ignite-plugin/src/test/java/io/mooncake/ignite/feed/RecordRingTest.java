// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

class RecordRingTest {
    private static final int CHUNK_BYTES = 4 << 10;
    private static final int CHUNKS = 2;

    private static BlockEvent event(int i) {
        BlockKey key = new BlockKey(i, i, i, i);
        return BlockEvent.stored(key, key, i, new int[16]);
    }

    @Test
    void take_muchMoreThanTheRing_hasTheLastEventsInBounds() {
        RecordRing ring = new RecordRing(CHUNK_BYTES, CHUNKS, CHUNK_BYTES * CHUNKS, ByteBuffer::allocateDirect);
        int events = 10_000;
        for (int i = 0; i < events; i++) {
            ring.append(event(i));
        }
        Queue<RecordRing.Run> runs = new ConcurrentLinkedQueue<>();
        ring.take(runs);

        int bytes = 0;
        List<Long> firsts = new ArrayList<>();
        long next = runs.element().first();
        for (RecordRing.Run run : runs) {
            // No gap but the one at the beginning.
            assertThat(run.first()).isEqualTo(next);
            next = run.first() + run.count();
            bytes += run.records().remaining();
            firsts.add(run.first());
        }
        assertThat(next).isEqualTo(events + 1L).isEqualTo(ring.next()).isEqualTo(ring.taken());
        assertThat(bytes).isBetween(CHUNK_BYTES * CHUNKS, 2 * CHUNK_BYTES * CHUNKS);
        assertThat(firsts.get(0)).isLessThan(ring.oldest()).isGreaterThan(1);

        ring.append(event(1));
        runs.clear();
        ring.take(runs);
        assertThat(runs).hasSize(1);
        assertThat(runs.element().first()).isEqualTo(events + 1L);
    }

    @Test
    void create_noMemory_isRefusedAtOnce() {
        assertThatThrownBy(() -> new RecordRing(CHUNK_BYTES, CHUNKS, 1, RecordRingTest::nothing))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("feedRing: 8192 bytes")
                .satisfies(e -> assertThat(((MooncakeException) e).code()).isEqualTo(MooncakeException.Code.EXHAUSTED));
    }

    private static ByteBuffer nothing(int bytes) {
        throw new OutOfMemoryError("Cannot reserve " + bytes);
    }
}
