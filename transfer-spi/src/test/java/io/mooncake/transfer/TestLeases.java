// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A holder of named ranges of one memory. */
final class TestLeases implements LeaseSource {
    private final Memory memory;
    private final int region;
    private final ConcurrentHashMap<Integer, TestPin> ranges = new ConcurrentHashMap<>();
    final AtomicInteger pinned = new AtomicInteger();

    TestLeases(Memory memory, int region) {
        this.memory = memory;
        this.region = region;
    }

    /** Fills a range with the bytes of {@code key} and offers it. */
    void put(int key, int offset, int length, int segment) {
        memory.fill(key, offset, length);
        offer(key, offset, length, segment);
    }

    void offer(int key, int offset, int length, int segment) {
        ranges.put(key, new TestPin(offset, length, segment, memory.checksums(offset, length, segment)));
    }

    static byte[] key(int key) {
        return ByteBuffer.allocate(4).putInt(key).array();
    }

    @Override
    public List<@Nullable Pin> pin(UUID peer, String namespace, List<byte[]> keys) {
        List<@Nullable Pin> pins = new ArrayList<>();
        for (byte[] key : keys) {
            TestPin range = ranges.get(ByteBuffer.wrap(key).getInt());
            if (range != null) {
                pinned.incrementAndGet();
            }
            pins.add(range);
        }
        return pins;
    }

    private final class TestPin implements Pin {
        private final int offset;
        private final int length;
        private final int segment;
        private final int[] checksums;

        TestPin(int offset, int length, int segment, int[] checksums) {
            this.offset = offset;
            this.length = length;
            this.segment = segment;
            this.checksums = checksums;
        }

        @Override
        public int region() {
            return region;
        }

        @Override
        public long generation() {
            return memory.generation.get();
        }

        @Override
        public long offset() {
            return offset;
        }

        @Override
        public int length() {
            return length;
        }

        @Override
        public int segmentLength() {
            return segment;
        }

        @Override
        public int[] checksums() {
            return checksums;
        }

        @Override
        public byte[] description() {
            return new byte[] {1, 2, 3};
        }

        @Override
        public void close() {
            pinned.decrementAndGet();
        }
    }
}
