// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Wire format of the feed, version 1, big-endian. Lengths are checked before anything is allocated; trailing bytes are an error.
 *
 * <pre>
 *  frame (owner to follower)                       query (follower to owner)
 *   0   4  magic "MKF1"                             0   4  magic "MKQ1"
 *   4   1  version = 1                              4   1  version = 1
 *   5   1  kind: 1 events, 2 snapshot, 3 too old    5   1  kind: 1 repair, 2 snapshot
 *   6   2  bytes of the pool's name, 1..64          6   2  bytes of the pool's name, 1..64
 *   8  16  incarnation of the owner                 8  16  incarnation asked
 *  24   8  first sequence                          24   8  first sequence wanted, or cursor
 *  32   8  next cursor, -1 after the last page     32   8  sequence after the last wanted; 0 for snapshots
 *  40   4  events                                  40   n  pool's name, UTF-8
 *  44   n  pool's name, UTF-8
 *  ..      events, each:
 *           1  kind: 1 stored, 2 removed
 *           4  depth
 *          32  key
 *          32  parent key
 *           4  tokens t, 0..65536
 *         4*t  token ids
 * </pre>
 *
 * <p>Events frames carry the events {@code first .. first + events - 1}; without events they are a heartbeat and {@code first} is the
 * sequence that the next event will get. A snapshot page lists blocks held, in order of their last store; {@code first} is the sequence
 * from which events must be applied on top. A reader of version 1 refuses other versions; of two members both know which both speak by what they tell when they join.
 */
public final class FeedFrameDescriptor {
    /** The version of this class; {@link FeedFrameV2Descriptor} is the next. */
    public static final int VERSION = 1;

    /** Bytes of a frame with one-letter pool name and no events, less the name. */
    static final int FRAME_HEADER_BYTES = 44;

    static final int QUERY_HEADER_BYTES = 40;
    static final int EVENT_HEADER_BYTES = 73;
    static final int MAX_TOKENS = 1 << 16;

    private static final int FRAME_MAGIC = 0x4D4B4631;
    private static final int QUERY_MAGIC = 0x4D4B5131;
    private static final int MAX_NAME_BYTES = 64;

    private FeedFrameDescriptor() {}

    /** What a frame is. */
    enum FrameKind {
        EVENTS(1),
        SNAPSHOT(2),
        TOO_OLD(3);

        private final int code;

        FrameKind(int code) {
            this.code = code;
        }

        int code() {
            return code;
        }
    }

    /** What a follower asks for. */
    enum QueryKind {
        REPAIR(1),
        SNAPSHOT(2);

        private final int code;

        QueryKind(int code) {
            this.code = code;
        }
    }

    /** A frame as values. */
    record Frame(FrameKind kind, UUID incarnation, String pool, long first, long nextCursor, List<BlockEvent> events) {
        long end() {
            return first + events.size();
        }
    }

    /** A query as values. */
    record Query(QueryKind kind, UUID incarnation, String pool, long from, long to) {}

    private static int bytes(BlockEvent event) {
        return EVENT_HEADER_BYTES + 4 * event.tokens().length;
    }

    static byte[] encode(Frame frame) {
        byte[] name = frame.pool().getBytes(StandardCharsets.UTF_8);
        int length = FRAME_HEADER_BYTES + name.length;
        for (BlockEvent event : frame.events()) {
            length += bytes(event);
        }
        ByteBuffer out = ByteBuffer.allocate(length);
        putHeader(out, FRAME_MAGIC, VERSION, frame.kind().code, name, frame.incarnation());
        out.putLong(frame.first())
                .putLong(frame.nextCursor())
                .putInt(frame.events().size())
                .put(name);
        for (BlockEvent event : frame.events()) {
            out.put((byte) event.kind().code()).putInt(event.depth());
            putKey(out, event.key());
            putKey(out, event.parentKey());
            out.putInt(event.tokens().length);
            for (int token : event.tokens()) {
                out.putInt(token);
            }
        }
        return out.array();
    }

    static byte[] encode(Query query) {
        return encode(query, QUERY_MAGIC, VERSION);
    }

    static byte[] encode(Query query, int magic, int version) {
        byte[] name = query.pool().getBytes(StandardCharsets.UTF_8);
        ByteBuffer out = ByteBuffer.allocate(QUERY_HEADER_BYTES + name.length);
        putHeader(out, magic, version, query.kind().code, name, query.incarnation());
        return out.putLong(query.from()).putLong(query.to()).put(name).array();
    }

    private static void putHeader(ByteBuffer out, int magic, int version, int kind, byte[] name, UUID incarnation) {
        out.putInt(magic).put((byte) version).put((byte) kind).putShort((short) name.length);
        out.putLong(incarnation.getMostSignificantBits()).putLong(incarnation.getLeastSignificantBits());
    }

    /** @throws MooncakeException CORRUPT when it is no frame of this version */
    static Frame decodeFrame(byte[] bytes) {
        try {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            int code = readKind(in, FRAME_MAGIC, VERSION);
            FrameKind kind = frameKind(code);
            int nameLength = readNameLength(in);
            UUID incarnation = new UUID(in.getLong(), in.getLong());
            long first = in.getLong();
            long nextCursor = in.getLong();
            int count = in.getInt();
            String pool = readName(in, nameLength);
            if (first < 0 || count < 0 || count > in.remaining() / EVENT_HEADER_BYTES) {
                throw corrupt("events: " + count + " from " + first + " in " + in.remaining() + " bytes");
            }
            List<BlockEvent> events = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                events.add(readEvent(in));
            }
            requireEnd(in);
            return new Frame(kind, incarnation, pool, first, nextCursor, events);
        } catch (BufferUnderflowException e) {
            throw corrupt("feed frame: cut off after " + bytes.length + " bytes");
        }
    }

    /** @throws MooncakeException CORRUPT when it is no query of this version */
    static Query decodeQuery(byte[] bytes) {
        return decodeQuery(bytes, QUERY_MAGIC, VERSION);
    }

    static Query decodeQuery(byte[] bytes, int magic, int expectedVersion) {
        try {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            int code = readKind(in, magic, expectedVersion);
            QueryKind kind =
                    switch (code) {
                        case 1 -> QueryKind.REPAIR;
                        case 2 -> QueryKind.SNAPSHOT;
                        default -> throw corrupt("query kind: " + code + " (expected: 1 or 2)");
                    };
            int nameLength = readNameLength(in);
            UUID incarnation = new UUID(in.getLong(), in.getLong());
            long from = in.getLong();
            long to = in.getLong();
            String pool = readName(in, nameLength);
            requireEnd(in);
            return new Query(kind, incarnation, pool, from, to);
        } catch (BufferUnderflowException e) {
            throw corrupt("feed query: cut off after " + bytes.length + " bytes");
        }
    }

    static FrameKind frameKind(int code) {
        return switch (code) {
            case 1 -> FrameKind.EVENTS;
            case 2 -> FrameKind.SNAPSHOT;
            case 3 -> FrameKind.TOO_OLD;
            default -> throw corrupt("frame kind: " + code + " (expected: 1..3)");
        };
    }

    private static BlockEvent readEvent(ByteBuffer in) {
        int code = in.get();
        if (code != BlockEvent.Kind.STORED.code() && code != BlockEvent.Kind.REMOVED.code()) {
            throw corrupt("event kind: " + code + " (expected: 1 or 2)");
        }
        int depth = in.getInt();
        BlockKey key = readKey(in);
        BlockKey parent = readKey(in);
        int count = in.getInt();
        if (depth < 0 || count < 0 || count > MAX_TOKENS || count > in.remaining() / 4) {
            throw corrupt(
                    "event: depth " + depth + ", " + count + " tokens (expected: at least 0, at most what follows)");
        }
        int[] tokens = new int[count];
        for (int i = 0; i < count; i++) {
            tokens[i] = in.getInt();
        }
        return new BlockEvent(
                code == 1 ? BlockEvent.Kind.STORED : BlockEvent.Kind.REMOVED,
                key,
                parent,
                depth,
                tokens,
                BlockPlace.MEMORY,
                RemovalCode.UNKNOWN);
    }

    private static void putKey(ByteBuffer out, BlockKey key) {
        out.putLong(key.word0()).putLong(key.word1()).putLong(key.word2()).putLong(key.word3());
    }

    private static BlockKey readKey(ByteBuffer in) {
        return new BlockKey(in.getLong(), in.getLong(), in.getLong(), in.getLong());
    }

    private static int readKind(ByteBuffer in, int magic, int expectedVersion) {
        int found = in.getInt();
        if (found != magic) {
            throw corrupt("magic: " + Integer.toHexString(found) + " (expected: " + Integer.toHexString(magic) + ")");
        }
        int version = in.get();
        if (version != expectedVersion) {
            throw corrupt("version: " + version + " (expected: " + expectedVersion + ")");
        }
        return in.get();
    }

    private static int readNameLength(ByteBuffer in) {
        int length = in.getShort();
        if (length < 1 || length > MAX_NAME_BYTES) {
            throw corrupt("pool name bytes: " + length + " (expected: 1.." + MAX_NAME_BYTES + ")");
        }
        return length;
    }

    private static String readName(ByteBuffer in, int length) {
        byte[] name = new byte[length];
        in.get(name);
        return new String(name, StandardCharsets.UTF_8);
    }

    private static void requireEnd(ByteBuffer in) {
        if (in.hasRemaining()) {
            throw corrupt("trailing bytes: " + in.remaining() + " (expected: 0)");
        }
    }

    private static MooncakeException corrupt(String message) {
        return new MooncakeException(MooncakeException.Code.CORRUPT, message);
    }
}
