// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockOutcome;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What a node asks of a holder for some of its blocks, and the answer; version 1, big-endian.
 *
 * <pre>
 *  request   u8 version, u8 action, i64 milliseconds (of a soft pin), u16 bytes and UTF-8 of the pool's name, u16 keys, 32 each
 *  answer    u8 version, u16 keys, u8 an outcome
 * </pre>
 *
 * @param action what is asked
 * @param millis how long a soft pin lasts; 0 otherwise
 * @param pool name of the pool
 * @param keys 1..{@value #MAX_KEYS}
 */
record ActFrame(Action action, long millis, String pool, List<BlockKey> keys) {
    static final int MAX_KEYS = 4096;

    private static final byte VERSION = 1;
    private static final int MAX_NAME_BYTES = 512;

    /** The order is the number on the wire. */
    enum Action {
        PIN_HARD,
        PIN_SOFT,
        UNPIN,
        REMOVE
    }

    ActFrame {
        keys = List.copyOf(keys);
    }

    byte[] encode() {
        byte[] name = pool.getBytes(StandardCharsets.UTF_8);
        ByteBuffer out = ByteBuffer.allocate(14 + name.length + BlockKey.BYTES * keys.size());
        out.put(VERSION).put((byte) action.ordinal()).putLong(millis);
        out.putShort((short) name.length).put(name).putShort((short) keys.size());
        for (BlockKey key : keys) {
            key.write(out, out.position());
            out.position(out.position() + BlockKey.BYTES);
        }
        return out.array();
    }

    /** @throws MooncakeException CORRUPT when {@code bytes} are no request */
    static ActFrame decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        try {
            require(in.get() == VERSION, bytes, "version " + VERSION);
            int action = Byte.toUnsignedInt(in.get());
            require(action < Action.values().length, bytes, "a known action");
            long millis = in.getLong();
            byte[] name = new byte[Math.min(MAX_NAME_BYTES + 1, Short.toUnsignedInt(in.getShort()))];
            require(name.length > 0 && name.length <= MAX_NAME_BYTES, bytes, "a name");
            in.get(name);
            int count = Short.toUnsignedInt(in.getShort());
            require(
                    count >= 1 && count <= MAX_KEYS && in.remaining() == BlockKey.BYTES * count,
                    bytes,
                    "1.." + MAX_KEYS + " keys");
            List<BlockKey> keys = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                keys.add(BlockKey.read(in, in.position() + BlockKey.BYTES * i));
            }
            return new ActFrame(Action.values()[action], millis, new String(name, StandardCharsets.UTF_8), keys);
        } catch (BufferUnderflowException e) {
            throw corrupt(bytes, "more bytes");
        }
    }

    static byte[] answer(List<BlockOutcome> outcomes) {
        ByteBuffer out = ByteBuffer.allocate(3 + outcomes.size()).put(VERSION).putShort((short) outcomes.size());
        outcomes.forEach(outcome -> out.put((byte) outcome.ordinal()));
        return out.array();
    }

    /** @throws MooncakeException CORRUPT when {@code bytes} are no answer for {@code count} keys */
    static List<BlockOutcome> outcomes(byte[] bytes, int count) {
        require(
                bytes.length == 3 + count
                        && bytes[0] == VERSION
                        && Short.toUnsignedInt(ByteBuffer.wrap(bytes).getShort(1)) == count,
                bytes,
                count + " outcomes");
        BlockOutcome[] known = BlockOutcome.values();
        List<BlockOutcome> outcomes = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int number = Byte.toUnsignedInt(bytes[3 + i]);
            require(number < known.length, bytes, "known outcomes");
            outcomes.add(known[number]);
        }
        return outcomes;
    }

    private static void require(boolean right, byte[] bytes, String expected) {
        if (!right) {
            throw corrupt(bytes, expected);
        }
    }

    private static MooncakeException corrupt(byte[] bytes, String expected) {
        return new MooncakeException(
                MooncakeException.Code.CORRUPT,
                "block request of " + bytes.length + " bytes (expected: " + expected + ")");
    }
}
