// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * A {@link LoadReport} on the wire, version 1, little-endian.
 *
 * <pre>
 *   0  u8   version = 1
 *   1  16   node (most, then least significant long)
 *  17  i64  sequence
 *  25  f64  prefill tokens a second
 *  33  f64  fetch bytes a second
 *  41  i64  hold nanoseconds
 *  49  u16  shares, 0..1024
 *  51  28 a share: 16 router, i32 in flight, i64 queued tokens
 * </pre>
 *
 * A report of another length, version or with a number out of range is refused whole.
 */
public final class LoadReportDescriptor {
    /** Version written and read. */
    public static final int VERSION = 1;

    /** Most shares of a report; the rest is left out. */
    public static final int MAX_SHARES = 1024;

    private static final int HEADER_BYTES = 51;
    private static final int SHARE_BYTES = 28;

    private LoadReportDescriptor() {}

    /** The bytes of {@code report}. */
    public static byte[] encode(LoadReport report) {
        List<LoadReport.Share> shares =
                report.shares().subList(0, Math.min(MAX_SHARES, report.shares().size()));
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + SHARE_BYTES * shares.size())
                .order(ByteOrder.LITTLE_ENDIAN)
                .put((byte) VERSION);
        putUuid(out, report.node());
        out.putLong(report.sequence())
                .putDouble(report.prefillTokensPerSecond())
                .putDouble(report.fetchBytesPerSecond())
                .putLong(report.holdNanos())
                .putShort((short) shares.size());
        for (LoadReport.Share share : shares) {
            putUuid(out, share.router());
            out.putInt(share.inFlight()).putLong(share.queuedTokens());
        }
        return out.array();
    }

    /**
     * The report in {@code bytes}.
     *
     * @throws MooncakeException INVALID_ARGUMENT when it is none
     */
    public static LoadReport decode(byte[] bytes) {
        if (bytes.length < HEADER_BYTES || bytes[0] != VERSION) {
            throw MooncakeException.invalid(
                    "load report",
                    bytes.length + " bytes",
                    "version " + VERSION + " of at least " + HEADER_BYTES + " bytes");
        }
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).position(1);
        UUID node = uuid(in);
        long sequence = in.getLong();
        double prefill = notNegative("prefill speed", in.getDouble());
        double fetch = notNegative("fetch speed", in.getDouble());
        long hold = notNegative("hold", in.getLong());
        int count = Short.toUnsignedInt(in.getShort());
        if (count > MAX_SHARES || bytes.length != HEADER_BYTES + SHARE_BYTES * count) {
            throw MooncakeException.invalid(
                    "load report", bytes.length + " bytes for " + count + " shares", HEADER_BYTES + " and 28 a share");
        }
        List<LoadReport.Share> shares = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            UUID router = uuid(in);
            shares.add(new LoadReport.Share(
                    router,
                    (int) notNegative("in flight", (long) in.getInt()),
                    notNegative("queued tokens", in.getLong())));
        }
        return new LoadReport(node, sequence, prefill, fetch, hold, shares);
    }

    private static void putUuid(ByteBuffer out, UUID id) {
        out.putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
    }

    private static UUID uuid(ByteBuffer in) {
        return new UUID(in.getLong(), in.getLong());
    }

    private static long notNegative(String name, long value) {
        if (value < 0) {
            throw MooncakeException.invalid(name, value, "0 or more");
        }
        return value;
    }

    private static double notNegative(String name, double value) {
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw MooncakeException.invalid(name, value, "0 or more, finite");
        }
        return value;
    }
}
