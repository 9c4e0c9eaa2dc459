// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.transfer.LeaseSource;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Leases any range of one memory that never changes: a key is offset and length. */
final class BenchLeases implements LeaseSource {
    /** Bytes a checksum covers, at most: what a layer of a block has in a pool of a small model. */
    static final int SEGMENT = 256 << 10;

    private final BenchMemory memory;
    private final int region;
    private final Map<Range, int[]> checksums = new ConcurrentHashMap<>();

    /** Where a pin lies. */
    private record Range(int offset, int length) {}

    BenchLeases(BenchMemory memory, int region) {
        this.memory = memory;
        this.region = region;
    }

    static byte[] key(long offset, long length) {
        return ByteBuffer.allocate(16).putLong(offset).putLong(length).array();
    }

    @Override
    public List<@Nullable Pin> pin(UUID peer, String namespace, List<byte[]> keys) {
        List<@Nullable Pin> pins = new ArrayList<>(keys.size());
        for (byte[] key : keys) {
            ByteBuffer in = ByteBuffer.wrap(key);
            Range range = new Range((int) in.getLong(), (int) in.getLong());
            int segment = Math.min(range.length(), SEGMENT);
            pins.add(new RangePin(
                    region,
                    memory.generation(),
                    range.offset(),
                    range.length(),
                    segment,
                    checksums.computeIfAbsent(
                            range, missing -> memory.checksums(missing.offset(), missing.length(), segment))));
        }
        return pins;
    }

    /** A range that stays where it is without being pinned. */
    private record RangePin(int region, long generation, long offset, int length, int segmentLength, int[] checksums)
            implements Pin {
        @Override
        public byte[] description() {
            return new byte[0];
        }

        @Override
        public void close() {
            // Nothing moves here.
        }
    }
}
