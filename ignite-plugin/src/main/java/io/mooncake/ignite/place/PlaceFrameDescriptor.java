// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.place.PlaceFrame.Answer;
import io.mooncake.ignite.place.PlaceFrame.Hot;
import io.mooncake.ignite.place.PlaceFrame.HotBlocks;
import io.mooncake.ignite.place.PlaceFrame.HotQuery;
import io.mooncake.ignite.place.PlaceFrame.Offer;
import io.mooncake.ignite.place.PlaceFrame.Outcome;
import io.mooncake.memory.BlockKey;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * A {@link PlaceFrame} on the wire, version 1, big-endian. A text is u16 bytes and UTF-8.
 *
 * <pre>
 *  0  u8  version = 1
 *  1  u8  kind: 1 offer, 2 answer, 3 hot query, 4 hot blocks
 *
 *  offer       i64 number, 16 node, i32 milliseconds, text pool, text tenant, u16 blocks, 32 a key
 *  answer      i64 number, u16 blocks, u8 an outcome
 *  hot query   i32 most blocks, text pool
 *  hot blocks  u16 tenants, a text each; i32 blocks; a block: 32 key, u32 hits, u16 tenant
 * </pre>
 *
 * A frame of another length, version or kind, or with a number out of range, is refused whole.
 */
final class PlaceFrameDescriptor {
    /** Most blocks of an offer. */
    static final int MAX_BLOCKS = 256;
    /** Most blocks that may be asked for. */
    static final int MAX_HOT = 65_536;

    private static final int VERSION = 1;
    private static final int MAX_TEXT_BYTES = 512;
    private static final int MAX_TENANTS = 1024;

    private PlaceFrameDescriptor() {}

    static byte[] encode(PlaceFrame frame) {
        if (frame instanceof Offer offer) {
            return encode(offer);
        } else if (frame instanceof Answer answer) {
            ByteBuffer out = start(2, 10 + answer.outcomes().size());
            out.putLong(answer.number()).putShort((short) answer.outcomes().size());
            answer.outcomes().forEach(outcome -> out.put((byte) outcome.ordinal()));
            return out.array();
        } else if (frame instanceof HotQuery query) {
            byte[] pool = text(query.pool());
            ByteBuffer out = start(3, 6 + pool.length).putInt(query.max());
            return put(out, pool).array();
        }
        return encode((HotBlocks) frame);
    }

    private static byte[] encode(Offer offer) {
        byte[] pool = text(offer.pool());
        byte[] tenant = text(offer.tenant());
        int count = offer.keys().size();
        ByteBuffer out = start(1, 34 + pool.length + tenant.length + BlockKey.BYTES * count);
        out.putLong(offer.number())
                .putLong(offer.node().getMostSignificantBits())
                .putLong(offer.node().getLeastSignificantBits())
                .putInt(offer.millis());
        put(put(out, pool), tenant).putShort((short) count);
        offer.keys().forEach(key -> putKey(out, key));
        return out.array();
    }

    private static byte[] encode(HotBlocks hot) {
        Map<String, Integer> tenants = new LinkedHashMap<>();
        for (Hot block : hot.blocks()) {
            if (tenants.size() < MAX_TENANTS) {
                tenants.putIfAbsent(block.tenant(), tenants.size());
            }
        }
        List<Hot> blocks = hot.blocks().stream()
                .filter(block -> tenants.containsKey(block.tenant()))
                .toList();
        List<byte[]> texts =
                tenants.keySet().stream().map(PlaceFrameDescriptor::text).toList();
        int bytes = texts.stream().mapToInt(text -> 2 + text.length).sum();
        ByteBuffer out = start(4, 6 + bytes + 38 * blocks.size());
        out.putShort((short) texts.size());
        texts.forEach(text -> put(out, text));
        out.putInt(blocks.size());
        for (Hot block : blocks) {
            putKey(out, block.key());
            out.putInt((int) Math.min(0xFFFF_FFFFL, block.hits()));
            out.putShort(tenants.getOrDefault(block.tenant(), 0).shortValue());
        }
        return out.array();
    }

    /**
     * The frame in {@code bytes}.
     *
     * @throws MooncakeException CORRUPT when it is none
     */
    static PlaceFrame decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        try {
            if (in.get() != VERSION) {
                throw corrupt(bytes, "version " + VERSION);
            }
            byte kind = in.get();
            PlaceFrame frame =
                    switch (kind) {
                        case 1 -> offer(in);
                        case 2 -> answer(in);
                        case 3 -> {
                            int max = ranged(in.getInt(), 1, MAX_HOT);
                            yield new HotQuery(text(in), max);
                        }
                        case 4 -> hotBlocks(in);
                        default -> throw corrupt(bytes, "kind 1..4");
                    };
            if (in.hasRemaining()) {
                throw corrupt(bytes, in.position() + " bytes");
            }
            return frame;
        } catch (BufferUnderflowException e) {
            throw corrupt(bytes, "more bytes");
        }
    }

    private static Offer offer(ByteBuffer in) {
        long number = in.getLong();
        UUID node = new UUID(in.getLong(), in.getLong());
        int millis = ranged(in.getInt(), 0, Integer.MAX_VALUE);
        String pool = text(in);
        String tenant = text(in);
        int count = ranged(Short.toUnsignedInt(in.getShort()), 1, MAX_BLOCKS);
        List<BlockKey> keys = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            keys.add(key(in));
        }
        return new Offer(number, node, pool, tenant, millis, keys);
    }

    private static Answer answer(ByteBuffer in) {
        long number = in.getLong();
        int count = ranged(Short.toUnsignedInt(in.getShort()), 1, MAX_BLOCKS);
        Outcome[] known = Outcome.values();
        List<Outcome> outcomes = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            outcomes.add(known[ranged(in.get(), 0, known.length - 1)]);
        }
        return new Answer(number, outcomes);
    }

    private static HotBlocks hotBlocks(ByteBuffer in) {
        int names = ranged(Short.toUnsignedInt(in.getShort()), 0, MAX_TENANTS);
        List<String> tenants = new ArrayList<>();
        for (int i = 0; i < names; i++) {
            tenants.add(text(in));
        }
        int count = ranged(in.getInt(), 0, MAX_HOT);
        List<Hot> blocks = new ArrayList<>(Math.min(count, in.remaining() / 38));
        for (int i = 0; i < count; i++) {
            BlockKey key = key(in);
            long hits = Integer.toUnsignedLong(in.getInt());
            blocks.add(new Hot(key, hits, tenants.get(ranged(Short.toUnsignedInt(in.getShort()), 0, names - 1))));
        }
        return new HotBlocks(blocks);
    }

    private static int ranged(int value, int min, int max) {
        if (value < min || value > max) {
            throw new MooncakeException(
                    MooncakeException.Code.CORRUPT,
                    "placement frame: " + value + " (expected: " + min + ".." + max + ")");
        }
        return value;
    }

    private static MooncakeException corrupt(byte[] bytes, String expected) {
        return new MooncakeException(
                MooncakeException.Code.CORRUPT,
                "placement frame of " + bytes.length + " bytes (expected: " + expected + ")");
    }

    private static ByteBuffer start(int kind, int bytes) {
        return ByteBuffer.allocate(2 + bytes).put((byte) VERSION).put((byte) kind);
    }

    private static byte[] text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > MAX_TEXT_BYTES) {
            throw MooncakeException.invalid("name", text, "1.." + MAX_TEXT_BYTES + " bytes");
        }
        return bytes;
    }

    private static ByteBuffer put(ByteBuffer out, byte[] text) {
        return out.putShort((short) text.length).put(text);
    }

    private static String text(ByteBuffer in) {
        byte[] bytes = new byte[ranged(Short.toUnsignedInt(in.getShort()), 1, MAX_TEXT_BYTES)];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static void putKey(ByteBuffer out, BlockKey key) {
        key.write(out, out.position());
        out.position(out.position() + BlockKey.BYTES);
    }

    private static BlockKey key(ByteBuffer in) {
        if (in.remaining() < BlockKey.BYTES) {
            throw new BufferUnderflowException();
        }
        BlockKey key = BlockKey.read(in, in.position());
        in.position(in.position() + BlockKey.BYTES);
        return key;
    }
}
