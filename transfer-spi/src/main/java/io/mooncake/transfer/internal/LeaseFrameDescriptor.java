// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.LeaseSource;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.RemoteLease.Element;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Payloads of lease requests, replies and releases on the control plane, version 3, little-endian.
 *
 * <pre>
 * request   version u8 | namespace bytes u8, UTF-8 | term in ns i64 | keys u16 | each: bytes u16, key
 * reply     version u8 | lease i64 | granted term in ns i64 | keys u16 | each: granted u8 (0 no, 1 yes, 2 held, but the reply was
 *             full: ask again), and when 1:
 *             region i32 | generation i64 | offset i64 | length i64 | expiry i64 | capability 32 B
 *             segment length i32 | segments i32, CRC32C each i32 | description bytes i32, description
 *             offset of the generation's word in the region i64, the smallest i64 where none is published
 * release   version u8 | lease i64 | bytes that the reader copied out of mapped memory under it i64
 * </pre>
 *
 * All granted handles are read-only. Decoding checks every count against the bytes that are there before it allocates.
 */
public final class LeaseFrameDescriptor {
    /** Most keys of a request. */
    public static final int MAX_KEYS = 4096;

    static final int VERSION = 3;
    private static final int REFUSED = 0;
    private static final int GRANTED = 1;
    private static final int DEFERRED = 2;
    static final int MAX_KEY_BYTES = 1024;
    static final int MAX_DESCRIPTION_BYTES = 64 << 10;
    static final int REPLY_HEADER_BYTES = 19;
    private static final int ELEMENT_FIXED_BYTES = 1 + 4 + 8 * 4 + Capabilities.BYTES + 12 + 8;

    private LeaseFrameDescriptor() {}

    /** A decoded request. */
    public record Request(String namespace, long termNanos, List<byte[]> keys) {}

    /** A decoded reply. */
    public record Reply(long lease, long termNanos, List<@Nullable Element> elements, BitSet deferred) {}

    /** Encodes a request; its limits are the caller's to keep, and checked here. */
    public static byte[] encodeRequest(String namespace, long termNanos, List<byte[]> keys) {
        byte[] space = namespace.getBytes(StandardCharsets.UTF_8);
        if (space.length > 255) {
            throw MooncakeException.invalid("namespace", namespace, "at most 255 bytes");
        }
        if (keys.isEmpty() || keys.size() > MAX_KEYS) {
            throw MooncakeException.invalid("keys", keys.size(), "1.." + MAX_KEYS);
        }
        int bytes = 12 + space.length;
        for (byte[] key : keys) {
            if (key.length > MAX_KEY_BYTES) {
                throw MooncakeException.invalid("key", key.length + " bytes", "at most " + MAX_KEY_BYTES);
            }
            bytes += 2 + key.length;
        }
        ByteBuffer to = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        to.put((byte) VERSION)
                .put((byte) space.length)
                .put(space)
                .putLong(termNanos)
                .putShort((short) keys.size());
        keys.forEach(key -> to.putShort((short) key.length).put(key));
        return to.array();
    }

    public static Request decodeRequest(byte[] payload) {
        try {
            ByteBuffer from = open(payload);
            String namespace = new String(take(from, from.get() & 0xff), StandardCharsets.UTF_8);
            long term = from.getLong();
            int count = from.getShort() & 0xffff;
            requireCount(count, from.remaining(), 2);
            List<byte[]> keys = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                keys.add(take(from, from.getShort() & 0xffff));
            }
            requireEnd(from);
            return new Request(namespace, term, keys);
        } catch (BufferUnderflowException e) {
            throw corrupt("lease request", e);
        }
    }

    /** Bytes that a pin takes in a reply. */
    static int elementBytes(LeaseSource.Pin pin) {
        return ELEMENT_FIXED_BYTES + 4 * pin.checksums().length + pin.description().length;
    }

    /** Encodes a reply; {@code handles[i]} is null where the pin is. */
    static byte[] encodeReply(
            long lease,
            long termNanos,
            List<LeaseSource.@Nullable Pin> pins,
            @Nullable RemoteHandle[] handles,
            long[] generationOffsets,
            BitSet deferred) {
        int bytes = REPLY_HEADER_BYTES;
        for (LeaseSource.Pin pin : pins) {
            bytes += pin == null ? 1 : elementBytes(pin);
        }
        ByteBuffer to = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        to.put((byte) VERSION).putLong(lease).putLong(termNanos).putShort((short) pins.size());
        for (int i = 0; i < handles.length; i++) {
            LeaseSource.Pin pin = pins.get(i);
            RemoteHandle handle = handles[i];
            if (pin == null || handle == null) {
                to.put((byte) (deferred.get(i) ? DEFERRED : REFUSED));
                continue;
            }
            to.put((byte) GRANTED).putInt(handle.region()).putLong(handle.generation());
            to.putLong(handle.offset()).putLong(handle.length()).putLong(handle.expiresAtNanos());
            to.put(handle.capability()).putInt(pin.segmentLength()).putInt(pin.checksums().length);
            for (int checksum : pin.checksums()) {
                to.putInt(checksum);
            }
            to.putInt(pin.description().length).put(pin.description()).putLong(generationOffsets[i]);
        }
        return to.array();
    }

    public static Reply decodeReply(byte[] payload) {
        try {
            ByteBuffer from = open(payload);
            long lease = from.getLong();
            long term = from.getLong();
            int count = from.getShort() & 0xffff;
            requireCount(count, from.remaining(), 1);
            List<@Nullable Element> elements = new ArrayList<>(count);
            BitSet deferred = new BitSet();
            for (int i = 0; i < count; i++) {
                int granted = from.get();
                if (granted < REFUSED || granted > DEFERRED) {
                    throw corrupt("granted: " + granted, null);
                }
                elements.add(granted == GRANTED ? element(from) : null);
                deferred.set(i, granted == DEFERRED);
            }
            requireEnd(from);
            return new Reply(lease, term, elements, deferred);
        } catch (BufferUnderflowException e) {
            throw corrupt("lease reply", e);
        }
    }

    private static Element element(ByteBuffer from) {
        int region = from.getInt();
        long generation = from.getLong();
        long offset = from.getLong();
        long length = from.getLong();
        long expiry = from.getLong();
        if (offset < 0 || length < 1 || offset + length < 0) {
            throw corrupt("range " + offset + "+" + length, null);
        }
        RemoteHandle handle =
                new RemoteHandle(region, generation, offset, length, false, expiry, take(from, Capabilities.BYTES));
        int segmentLength = from.getInt();
        int segments = from.getInt();
        requireCount(segments, from.remaining(), 4);
        if (segmentLength < 1 || segmentLength * (long) segments != length) {
            throw corrupt("segments " + segments + " of " + segmentLength + " for " + length + " bytes", null);
        }
        int[] checksums = new int[segments];
        for (int i = 0; i < segments; i++) {
            checksums[i] = from.getInt();
        }
        byte[] description = take(from, from.getInt());
        return new Element(handle, segmentLength, checksums, description, from.getLong());
    }

    /** A decoded release. */
    record Release(long lease, long copiedBytes) {}

    public static byte[] encodeRelease(long lease, long copiedBytes) {
        return ByteBuffer.allocate(17)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put((byte) VERSION)
                .putLong(lease)
                .putLong(copiedBytes)
                .array();
    }

    static Release decodeRelease(byte[] payload) {
        try {
            ByteBuffer from = open(payload);
            Release release = new Release(from.getLong(), from.getLong());
            requireEnd(from);
            return release;
        } catch (BufferUnderflowException e) {
            throw corrupt("lease release", e);
        }
    }

    private static ByteBuffer open(byte[] payload) {
        ByteBuffer from = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
        int version = from.get();
        if (version != VERSION) {
            throw new MooncakeException(
                    MooncakeException.Code.PEER_REFUSED, "lease protocol: " + version + " (expected: " + VERSION + ")");
        }
        return from;
    }

    private static byte[] take(ByteBuffer from, int bytes) {
        requireCount(bytes, from.remaining(), 1);
        byte[] taken = new byte[bytes];
        from.get(taken);
        return taken;
    }

    private static void requireCount(int count, int remaining, int bytesEach) {
        if (count < 0 || count > remaining / bytesEach) {
            throw corrupt("count " + count + " with " + remaining + " bytes left", null);
        }
    }

    private static void requireEnd(ByteBuffer from) {
        if (from.hasRemaining()) {
            throw corrupt(from.remaining() + " trailing bytes", null);
        }
    }

    private static MooncakeException corrupt(String what, @Nullable Throwable cause) {
        return new MooncakeException(MooncakeException.Code.CORRUPT, "lease frame: " + what, cause);
    }
}
