// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.MetadataRecord;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * What stores tell each other over Ignite's messaging, as byte arrays, so that nodes without our jars can carry and ignore them. Big-endian.
 *
 * <pre>
 *  0  form      u8   1
 *  1  type      u8   1 HELLO, 2 CHANGE, 3 SNAPSHOT, 4 DIGEST, 5 BYE
 *  2  owner     2 x i64
 * 18  sequence  i64  changes that the owner has told, this one included
 * 26  CHANGE    1 record          SNAPSHOT  part i32, parts i32, count i32, count records
 *
 * record   key length u8, key ASCII, version i64, value length i32 (-1: removed), value
 * </pre>
 */
final class MetadataFrameDescriptor {
    private static final byte FORM = 1;
    private static final int HEADER_BYTES = 26;

    private MetadataFrameDescriptor() {}

    /** What a frame is about. */
    enum Type {
        /** A store is new, or lacks something: send it a snapshot. */
        HELLO,
        /** One change. */
        CHANGE,
        /** A part of all that an owner has. */
        SNAPSHOT,
        /** So many changes there were: whoever knows fewer says HELLO. */
        DIGEST,
        /** The owner closes. */
        BYE
    }

    /**
     * One record in a frame.
     *
     * @param record without value if removed
     */
    record Entry(MetadataRecord record, boolean removed) {}

    /**
     * A frame.
     *
     * @param part of a snapshot, 0 else
     * @param parts of a snapshot, 1 else
     */
    record Frame(Type type, UUID owner, long sequence, int part, int parts, List<Entry> entries) {
        Frame {
            entries = List.copyOf(entries);
        }
    }

    static byte[] plain(Type type, UUID owner, long sequence) {
        return header(type, owner, sequence, 0).array();
    }

    static byte[] change(UUID owner, long sequence, Entry entry) {
        ByteBuffer buffer = header(Type.CHANGE, owner, sequence, bytes(entry));
        put(buffer, entry);
        return buffer.array();
    }

    static byte[] snapshot(UUID owner, long sequence, int part, int parts, List<Entry> entries) {
        int bytes =
                12 + entries.stream().mapToInt(MetadataFrameDescriptor::bytes).sum();
        ByteBuffer buffer = header(Type.SNAPSHOT, owner, sequence, bytes);
        buffer.putInt(part).putInt(parts).putInt(entries.size());
        entries.forEach(entry -> put(buffer, entry));
        return buffer.array();
    }

    /** Bytes of an entry in a frame. */
    static int bytes(Entry entry) {
        return 13
                + entry.record().key().length()
                + (entry.removed() ? 0 : entry.record().value().length);
    }

    private static ByteBuffer header(Type type, UUID owner, long sequence, int more) {
        return ByteBuffer.allocate(HEADER_BYTES + more)
                .put(FORM)
                .put((byte) (type.ordinal() + 1))
                .putLong(owner.getMostSignificantBits())
                .putLong(owner.getLeastSignificantBits())
                .putLong(sequence);
    }

    private static void put(ByteBuffer buffer, Entry entry) {
        byte[] key = entry.record().key().getBytes(StandardCharsets.US_ASCII);
        buffer.put((byte) key.length).put(key).putLong(entry.record().version());
        if (entry.removed()) {
            buffer.putInt(-1);
        } else {
            buffer.putInt(entry.record().value().length).put(entry.record().value());
        }
    }

    /** The frame, or empty when the bytes are none: another version's, or not ours. */
    static Optional<Frame> decode(byte[] bytes) {
        try {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            int form = buffer.get();
            int type = buffer.get() - 1;
            if (form != FORM || type < 0 || type >= Type.values().length) {
                return Optional.empty();
            }
            UUID owner = new UUID(buffer.getLong(), buffer.getLong());
            Frame frame = body(Type.values()[type], owner, buffer.getLong(), buffer);
            boolean sound = !buffer.hasRemaining() && frame.part >= 0 && frame.part < frame.parts;
            return sound ? Optional.of(frame) : Optional.empty();
        } catch (BufferUnderflowException | MooncakeException e) {
            return Optional.empty();
        }
    }

    private static Frame body(Type type, UUID owner, long sequence, ByteBuffer buffer) {
        int part = 0;
        int parts = 1;
        int count = type == Type.CHANGE ? 1 : 0;
        if (type == Type.SNAPSHOT) {
            part = buffer.getInt();
            parts = buffer.getInt();
            count = buffer.getInt();
        }
        if (count < 0) {
            throw new BufferUnderflowException();
        }
        List<Entry> entries = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            entries.add(entry(owner, buffer));
        }
        return new Frame(type, owner, sequence, part, parts, entries);
    }

    private static Entry entry(UUID owner, ByteBuffer buffer) {
        byte[] key = new byte[Byte.toUnsignedInt(buffer.get())];
        buffer.get(key);
        long version = buffer.getLong();
        int length = buffer.getInt();
        // Compared with a limit before memory is taken for it.
        if (length > buffer.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] value = new byte[Math.max(0, length)];
        buffer.get(value);
        return new Entry(
                new MetadataRecord(new String(key, StandardCharsets.US_ASCII), owner, version, value), length < 0);
    }
}
