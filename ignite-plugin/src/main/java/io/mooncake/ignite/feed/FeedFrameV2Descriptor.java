// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.feed.FeedFrameDescriptor.FrameKind;
import io.mooncake.ignite.feed.FeedFrameDescriptor.Query;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/**
 * Wire format of the feed, version 2, big-endian. Lengths are checked before anything is allocated; trailing bytes are an error.
 *
 * <pre>
 *  frame (owner to follower)
 *   0   4  magic "MKF2"
 *   4   1  version = 2
 *   5   1  kind: 1 events, 2 snapshot, 3 too old
 *   6   1  bytes of the pool's name, 1..64
 *   7   1  reserved: 0
 *   8  16  incarnation of the owner
 *  24   8  first sequence
 *  32   8  next cursor, -1 after the last page
 *  40   4  events
 *  44   n  pool's name, UTF-8
 *  ..      the events as {@link FeedRecords}
 * </pre>
 *
 * <p>Sequences, cursors, heartbeats and snapshots mean what they mean in version 1 ({@link FeedFrameDescriptor}); an answer to a repair may begin
 * before the sequence that was asked for. Queries are those of version 1 with magic "MKQ2" and version 2, and are answered in this version.
 */
final class FeedFrameV2Descriptor {
    static final int VERSION = 2;
    /** Fourth byte of the magic of frames and queries. */
    static final byte MAGIC_DIGIT = '2';

    static final int HEADER_BYTES = 44;
    private static final int FRAME_MAGIC = 0x4D4B4632;
    private static final int QUERY_MAGIC = 0x4D4B5132;
    private static final int MAX_NAME_BYTES = 64;

    private FeedFrameV2Descriptor() {}

    static byte[] encode(FeedFrame frame) {
        byte[] name = frame.pool().getBytes(StandardCharsets.UTF_8);
        ByteBuffer records = frame.records().duplicate();
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + name.length + records.remaining());
        out.putInt(FRAME_MAGIC)
                .put((byte) VERSION)
                .put((byte) frame.kind().code())
                .put((byte) name.length)
                .put((byte) 0)
                .putLong(frame.incarnation().getMostSignificantBits())
                .putLong(frame.incarnation().getLeastSignificantBits())
                .putLong(frame.first())
                .putLong(frame.nextCursor())
                .putInt(frame.count())
                .put(name);
        return out.put(records).array();
    }

    /** @throws MooncakeException CORRUPT when it is no frame of this version, or one of its records is none */
    static FeedFrame decode(byte[] bytes) {
        try {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            int magic = in.getInt();
            int version = in.get();
            if (magic != FRAME_MAGIC || version != VERSION) {
                throw corrupt("frame: magic " + Integer.toHexString(magic) + ", version " + version + " (expected: "
                        + Integer.toHexString(FRAME_MAGIC) + ", " + VERSION + ")");
            }
            FrameKind kind = FeedFrameDescriptor.frameKind(in.get());
            int nameLength = in.get();
            int reserved = in.get();
            if (nameLength < 1 || nameLength > MAX_NAME_BYTES) {
                throw corrupt("pool name bytes: " + nameLength + " (expected: 1.." + MAX_NAME_BYTES + ")");
            }
            if (reserved != 0) {
                throw corrupt("reserved byte: " + reserved + " (expected: 0)");
            }
            UUID incarnation = new UUID(in.getLong(), in.getLong());
            long first = in.getLong();
            long nextCursor = in.getLong();
            int count = in.getInt();
            byte[] name = new byte[nameLength];
            in.get(name);
            if (first < 0 || count < 0 || count > in.remaining() / FeedRecords.MIN_BYTES) {
                throw corrupt("events: " + count + " from " + first + " in " + in.remaining() + " bytes");
            }
            ByteBuffer records = in.slice();
            check(records.duplicate(), count);
            String pool = new String(name, StandardCharsets.UTF_8);
            return new FeedFrame(kind, incarnation, pool, first, nextCursor, count, records);
        } catch (BufferUnderflowException e) {
            throw corrupt("feed frame: cut off after " + bytes.length + " bytes");
        }
    }

    private static void check(ByteBuffer in, int count) {
        EventCursor cursor = new EventCursor();
        for (int i = 0; i < count; i++) {
            FeedRecords.read(in, cursor);
        }
        if (in.hasRemaining()) {
            throw corrupt("trailing bytes: " + in.remaining() + " (expected: 0)");
        }
    }

    static byte[] encode(Query query) {
        return FeedFrameDescriptor.encode(query, QUERY_MAGIC, VERSION);
    }

    /** @throws MooncakeException CORRUPT when it is no query of this version */
    static Query decodeQuery(byte[] bytes) {
        return FeedFrameDescriptor.decodeQuery(bytes, QUERY_MAGIC, VERSION);
    }

    private static MooncakeException corrupt(String message) {
        return new MooncakeException(MooncakeException.Code.CORRUPT, message);
    }
}
