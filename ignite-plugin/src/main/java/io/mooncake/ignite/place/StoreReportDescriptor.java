// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * A {@link StoreReport} on the wire, version 1, big-endian.
 *
 * <pre>
 *   0  u8   version = 1
 *   1  16   node
 *  17  u8   flags: 1 draining, 2 fenced
 *  18  f64  free share
 *  26  i64  age in milliseconds
 *  34  u8   copies of each block that it keeps
 *  35
 * </pre>
 *
 * Bytes after these are of a later version and are not read.
 */
final class StoreReportDescriptor {
    private static final int VERSION = 1;
    private static final int BYTES = 35;
    private static final int DRAINING = 1;
    private static final int FENCED = 2;

    private StoreReportDescriptor() {}

    static byte[] encode(StoreReport report) {
        return ByteBuffer.allocate(BYTES)
                .put((byte) VERSION)
                .putLong(report.node().getMostSignificantBits())
                .putLong(report.node().getLeastSignificantBits())
                .put((byte) ((report.draining() ? DRAINING : 0) | (report.fenced() ? FENCED : 0)))
                .putDouble(report.freeShare())
                .putLong(report.ageMillis())
                .put((byte) report.replicas())
                .array();
    }

    /** @throws MooncakeException CORRUPT when it is none */
    static StoreReport decode(byte[] bytes) {
        if (bytes.length < BYTES || bytes[0] != VERSION) {
            throw corrupt(bytes.length + " bytes", "version " + VERSION + ", at least " + BYTES + " bytes");
        }
        ByteBuffer in = ByteBuffer.wrap(bytes, 1, BYTES - 1);
        UUID node = new UUID(in.getLong(), in.getLong());
        int flags = in.get();
        double free = in.getDouble();
        long age = in.getLong();
        if (!(free >= 0 && free <= 1) || age < 0) {
            throw corrupt("free share " + free + ", age " + age, "0..1, and 0 or more");
        }
        return new StoreReport(
                node, (flags & DRAINING) != 0, (flags & FENCED) != 0, free, age, Byte.toUnsignedInt(in.get()));
    }

    private static MooncakeException corrupt(String value, String expected) {
        return new MooncakeException(
                MooncakeException.Code.CORRUPT, "store report: " + value + " (expected: " + expected + ")");
    }
}
