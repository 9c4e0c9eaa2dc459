// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Records of events as version 2 of the feed has them, big-endian:
 *
 * <pre>
 *   1  bits 0..1  kind: 1 stored, 2 removed, 3 placed
 *      bits 2..3  place: 0 memory, 1 SSD, 2 both, 3 filling; 0 when removed
 *      bit  4     chained: it follows the last stored block of the records before it
 *      bits 5..7  cause: 0 unknown, 1 evicted, 2 removed, 3 lost; 0 unless removed
 *  32  key
 *  then, when stored and not chained:
 *   v  depth
 *  32  parent key
 *  then, when stored:
 *   v  tokens t, 0..65536
 * v*t  token ids
 * </pre>
 *
 * <p>v is an unsigned int of 1..5 bytes, seven bits a byte, lowest first, the top bit set on all but the last. A block of 16 tokens of a vocabulary of
 * 50,000 takes some 80 bytes in a chain, its removal 33. Records are put together in one piece that begins with one that is not chained; several
 * such pieces behind each other are one, too.
 */
final class FeedRecords {
    private static final int KIND_MASK = 3;
    private static final int PLACE_SHIFT = 2;
    private static final int PLACE_MASK = 3;
    private static final int CHAINED = 1 << 4;
    private static final int CAUSE_SHIFT = 5;
    private static final int KEY_BYTES = 32;
    private static final int VARINT_BYTES = 5;
    /** The shortest record: a removal. */
    static final int MIN_BYTES = 1 + KEY_BYTES;

    private FeedRecords() {}

    /** Most bytes of a record with so many tokens. */
    static int maxBytes(int tokens) {
        return 1 + KEY_BYTES + VARINT_BYTES + KEY_BYTES + VARINT_BYTES + VARINT_BYTES * tokens;
    }

    /**
     * Appends the event at which {@code event} stands.
     *
     * @param event also remembers, in {@code chain}, what was stored last in the piece
     */
    static void write(ByteBuffer out, EventCursor event) {
        boolean stored = event.kind == BlockEvent.Kind.STORED;
        boolean chained = stored
                && event.chainDepth >= 0
                && event.depth == event.chainDepth + 1
                && Arrays.equals(event.parent, event.chain);
        int place = event.kind == BlockEvent.Kind.REMOVED ? 0 : event.place.code();
        int cause = event.kind == BlockEvent.Kind.REMOVED ? event.cause.code() : 0;
        out.put((byte) (event.kind.code() | place << PLACE_SHIFT | (chained ? CHAINED : 0) | cause << CAUSE_SHIFT));
        putKey(out, event.key);
        if (!stored) {
            return;
        }
        if (!chained) {
            putVarint(out, event.depth);
            putKey(out, event.parent);
        }
        putVarint(out, event.tokenCount);
        for (int i = 0; i < event.tokenCount; i++) {
            putVarint(out, event.tokens[i]);
        }
        chainGoesOn(event);
    }

    private static void chainGoesOn(EventCursor event) {
        System.arraycopy(event.key, 0, event.chain, 0, event.key.length);
        event.chainDepth = event.depth;
    }

    /**
     * Moves {@code event} on to the next record.
     *
     * @throws MooncakeException CORRUPT when it is none
     * @throws java.nio.BufferUnderflowException when it is cut off
     */
    static void read(ByteBuffer in, EventCursor event) {
        int op = in.get() & 0xFF;
        event.kind = kind(op);
        boolean removed = event.kind == BlockEvent.Kind.REMOVED;
        boolean chained = (op & CHAINED) != 0;
        int place = op >> PLACE_SHIFT & PLACE_MASK;
        if (removed ? place != 0 : op >> CAUSE_SHIFT != 0) {
            throw corrupt("record: " + op + " (expected: a cause with removals, a place with all others)");
        }
        event.place = BlockPlace.of(place);
        event.cause = RemovalCode.of(op >> CAUSE_SHIFT);
        getKey(in, event.key);
        event.depth = 0;
        event.tokenCount = 0;
        if (event.kind != BlockEvent.Kind.STORED) {
            if (chained) {
                throw corrupt("record: " + op + " (expected: only what is stored chained)");
            }
            return;
        }
        if (chained) {
            if (event.chainDepth < 0 || event.chainDepth == Integer.MAX_VALUE) {
                throw corrupt("record: chained to nothing");
            }
            System.arraycopy(event.chain, 0, event.parent, 0, event.parent.length);
            event.depth = event.chainDepth + 1;
        } else {
            event.depth = getVarint(in);
            getKey(in, event.parent);
        }
        int count = getVarint(in);
        if (event.depth < 0 || count < 0 || count > FeedFrameDescriptor.MAX_TOKENS || count > in.remaining()) {
            throw corrupt("record: depth " + event.depth + ", " + count
                    + " tokens (expected: at least 0, at most what follows)");
        }
        event.tokenCount = count;
        event.room();
        for (int i = 0; i < count; i++) {
            event.tokens[i] = getVarint(in);
        }
        chainGoesOn(event);
    }

    private static BlockEvent.Kind kind(int op) {
        return switch (op & KIND_MASK) {
            case 1 -> BlockEvent.Kind.STORED;
            case 2 -> BlockEvent.Kind.REMOVED;
            case 3 -> BlockEvent.Kind.PLACED;
            default -> throw corrupt("record kind: 0 (expected: 1..3)");
        };
    }

    private static void putVarint(ByteBuffer out, int value) {
        int rest = value;
        while ((rest & ~0x7F) != 0) {
            out.put((byte) (rest | 0x80));
            rest >>>= 7;
        }
        out.put((byte) rest);
    }

    private static int getVarint(ByteBuffer in) {
        int value = 0;
        for (int shift = 0; shift < 7 * VARINT_BYTES; shift += 7) {
            int next = in.get();
            value |= (next & 0x7F) << shift;
            if (next >= 0) {
                if (shift == 28 && next > 0x0F) {
                    break;
                }
                return value;
            }
        }
        throw corrupt("number: more than 32 bits");
    }

    private static void putKey(ByteBuffer out, long[] key) {
        out.putLong(key[0]).putLong(key[1]).putLong(key[2]).putLong(key[3]);
    }

    private static void getKey(ByteBuffer in, long[] key) {
        key[0] = in.getLong();
        key[1] = in.getLong();
        key[2] = in.getLong();
        key[3] = in.getLong();
    }

    private static MooncakeException corrupt(String message) {
        return new MooncakeException(MooncakeException.Code.CORRUPT, message);
    }
}
