// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RemoteHandle;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * What the two ends of a lane say to each other, as payloads of the control plane. Little-endian.
 *
 * <pre>
 * question   0 version u8 = 1 | 1 kind u8 | 2 zero u16 | 4 epoch i32 | 8 sequence i64 | 16 node of the asking end, 2 x i64 | 32 body
 *   BATCH      count i32, then count x (length i32, bytes): messages from sequence on
 *   PIECE      offset i32 | length i32 | crc32c i32 | last u8 | region i32 | generation i64 | handle's offset i64 | handle's length i64
 *              | expires i64 | capability length u16, bytes: a part of message sequence, to be read at the handle's start
 *   PROGRESS   filled i32: sequence is the next one wanted, filled bytes of it are there
 *   PING       nothing
 * answer     0 version u8 = 1 | 1 outcome u8 | 2 zero u16 | 4 filled i32 | 8 next sequence wanted i64
 * </pre>
 */
final class LaneFrameDescriptor {
    static final int VERSION = 1;
    static final int BATCH = 1;
    static final int PIECE = 2;
    static final int PROGRESS = 3;
    static final int PING = 4;

    /** Done, as far as the answer's sequence says. */
    static final int TAKEN = 0;
    /** The other end knows neither node nor epoch yet: ask again. */
    static final int NOT_READY = 1;
    /** That epoch has ended. */
    static final int ENDED = 2;
    /** The message at the answer's sequence can't be read here. */
    static final int UNREADABLE = 3;
    /** The piece will be read; a PROGRESS follows. */
    static final int READING = 4;

    static final int HEADER_BYTES = 32;
    static final int ANSWER_BYTES = 16;
    /** Messages of one batch. */
    static final int MAX_COUNT = 1024;

    private LaneFrameDescriptor() {}

    /** Head of a question. */
    record Question(int kind, int epoch, long sequence, UUID node) {}

    /** An answer. */
    record Answer(int outcome, int filled, long next) {}

    /** A part of a message that is read one-sided. */
    record Piece(int offset, int length, int crc, boolean last, RemoteHandle handle) {}

    /** An empty question with room for {@code bodyBytes}. */
    static ByteBuffer question(Question question, int bodyBytes) {
        ByteBuffer into = ByteBuffer.allocate(HEADER_BYTES + bodyBytes).order(ByteOrder.LITTLE_ENDIAN);
        into.put((byte) VERSION).put((byte) question.kind).putShort((short) 0).putInt(question.epoch);
        into.putLong(question.sequence);
        into.putLong(question.node.getMostSignificantBits()).putLong(question.node.getLeastSignificantBits());
        return into;
    }

    static byte[] batch(Question question, List<byte[]> messages) {
        int bytes = 4;
        for (byte[] message : messages) {
            bytes += 4 + message.length;
        }
        ByteBuffer into = question(question, bytes).putInt(messages.size());
        for (byte[] message : messages) {
            into.putInt(message.length).put(message);
        }
        return into.array();
    }

    static byte[] piece(Question question, Piece piece) {
        RemoteHandle handle = piece.handle;
        ByteBuffer into = question(question, 13 + 36 + 2 + handle.capability().length);
        into.putInt(piece.offset).putInt(piece.length).putInt(piece.crc).put((byte) (piece.last ? 1 : 0));
        into.putInt(handle.region()).putLong(handle.generation()).putLong(handle.offset());
        into.putLong(handle.length()).putLong(handle.expiresAtNanos());
        into.putShort((short) handle.capability().length).put(handle.capability());
        return into.array();
    }

    static byte[] progress(Question question, int filled) {
        return question(question, 4).putInt(filled).array();
    }

    /** A frame behind whose header the body begins. */
    static ByteBuffer open(byte[] payload) {
        return ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
    }

    static Question question(ByteBuffer from) {
        try {
            int version = from.get();
            int kind = from.get();
            if (version != VERSION || kind < BATCH || kind > PING || from.getShort() != 0) {
                throw corrupt("version " + version + ", kind " + kind);
            }
            return new Question(kind, from.getInt(), from.getLong(), new UUID(from.getLong(), from.getLong()));
        } catch (BufferUnderflowException e) {
            throw corrupt("too short");
        }
    }

    static List<byte[]> messages(ByteBuffer from) {
        try {
            int count = from.getInt();
            if (count < 1 || count > MAX_COUNT) {
                throw corrupt(count + " messages");
            }
            List<byte[]> found = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                found.add(bytes(from, from.getInt()));
            }
            requireEnd(from);
            return found;
        } catch (BufferUnderflowException e) {
            throw corrupt("too short");
        }
    }

    static Piece piece(ByteBuffer from) {
        try {
            int offset = from.getInt();
            int length = from.getInt();
            int crc = from.getInt();
            int last = from.get();
            int region = from.getInt();
            long generation = from.getLong();
            long start = from.getLong();
            long room = from.getLong();
            long expires = from.getLong();
            byte[] capability = bytes(from, from.getShort());
            requireEnd(from);
            if ((last & ~1) != 0) {
                throw corrupt("last: " + last);
            }
            if (offset < 0 || length < 1 || length > LaneMemory.BYTES || length > room || offset + length < 0) {
                throw corrupt("piece " + offset + "+" + length);
            }
            return new Piece(
                    offset,
                    length,
                    crc,
                    last == 1,
                    new RemoteHandle(region, generation, start, room, false, expires, capability));
        } catch (BufferUnderflowException e) {
            throw corrupt("too short");
        }
    }

    static int filled(ByteBuffer from) {
        if (from.remaining() != 4) {
            throw corrupt("progress of " + from.remaining() + " bytes");
        }
        return from.getInt();
    }

    static byte[] answer(int outcome, int filled, long next) {
        ByteBuffer into = ByteBuffer.allocate(ANSWER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        into.put((byte) VERSION)
                .put((byte) outcome)
                .putShort((short) 0)
                .putInt(filled)
                .putLong(next);
        return into.array();
    }

    static Answer answer(byte[] payload) {
        ByteBuffer from = open(payload);
        if (payload.length != ANSWER_BYTES || from.get() != VERSION) {
            throw corrupt("answer of " + payload.length + " bytes");
        }
        int outcome = from.get();
        if (outcome < TAKEN || outcome > READING || from.getShort() != 0) {
            throw corrupt("outcome " + outcome);
        }
        return new Answer(outcome, from.getInt(), from.getLong());
    }

    private static byte[] bytes(ByteBuffer from, int length) {
        if (length < 0 || length > from.remaining()) {
            throw corrupt(length + " bytes of " + from.remaining());
        }
        byte[] found = new byte[length];
        from.get(found);
        return found;
    }

    private static void requireEnd(ByteBuffer from) {
        if (from.hasRemaining()) {
            throw corrupt(from.remaining() + " bytes too many");
        }
    }

    private static MooncakeException corrupt(String what) {
        return new MooncakeException(MooncakeException.Code.CORRUPT, "frame of a lane: " + what);
    }
}
