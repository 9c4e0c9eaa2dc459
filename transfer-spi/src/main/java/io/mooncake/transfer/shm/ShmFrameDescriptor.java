// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.internal.Capabilities;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Payloads on the control plane by which peers find that they share memory, version 1, little-endian.
 *
 * <pre>
 * page      present u8, and when 1: device i64 | inode i64 | revocations i64 | mailbox for the receiver i16, -1 where
 *             there is none | SHA-256 of the token 32 B | path bytes u16, UTF-8
 * attach    version u8 | boot id bytes u8, ASCII | page of the asker
 * attached  version u8 | boot id bytes u8, ASCII | page of the answerer | token of the asker's page, read back: bytes u8 (0 or 32)
 *             | why there is none: bytes u16, UTF-8
 * open      version u8 | handles u16 | each: region i32 | generation i64 | offset i64 | length i64 | rights u8 | expiry i64
 *             | capability 32 B
 * opened    version u8 | handles u16 | each: offset of the generation's word in the region i64 | term left in ns i64; the smallest i64
 *             where the handle can't be read this way: TCP then says why
 * </pre>
 *
 * Decoding checks every count against the bytes that are there before it allocates.
 */
final class ShmFrameDescriptor {
    static final int VERSION = 1;
    /** Most handles of an open request. */
    static final int MAX_HANDLES = 4096;

    private static final int HANDLE_BYTES = 4 + 8 + 8 + 8 + 1 + 8 + Capabilities.BYTES;
    private static final int OPENED_BYTES = 8 + 8;
    private static final int HASH_BYTES = 32;
    private static final int MAX_REASON_BYTES = 1024;

    private ShmFrameDescriptor() {}

    /** Where an engine's page is, and which of its mailboxes is for who is told. */
    record Page(long device, long inode, long revocations, int mailbox, byte[] tokenHash, String path) {
        Page withMailbox(int other) {
            return new Page(device, inode, revocations, other, tokenHash, path);
        }
    }

    /** A decoded attach request. */
    record Attach(String bootId, @Nullable Page page) {}

    /** A decoded answer to it. */
    record Attached(String bootId, @Nullable Page page, byte[] token, String reason) {}

    /** The owner's word on one handle. */
    record Opened(long generationOffset, long leftNanos) {}

    static byte[] encodeAttach(Attach attach) {
        ByteBuffer to = buffer(2 + 255 + 61 + SharedPageDescriptor.MAX_PATH_BYTES);
        to.put((byte) VERSION);
        putText(to, attach.bootId, 1);
        putPage(to, attach.page);
        return taken(to);
    }

    static Attach decodeAttach(byte[] payload) {
        try {
            ByteBuffer from = open(payload);
            Attach attach = new Attach(text(from, 1), page(from));
            requireEnd(from);
            return attach;
        } catch (BufferUnderflowException e) {
            throw corrupt("attach", e);
        }
    }

    static byte[] encodeAttached(Attached attached) {
        ByteBuffer to = buffer(2 + 255 + 61 + SharedPageDescriptor.MAX_PATH_BYTES + 33 + 2 + MAX_REASON_BYTES);
        to.put((byte) VERSION);
        putText(to, attached.bootId, 1);
        putPage(to, attached.page);
        to.put((byte) attached.token.length).put(attached.token);
        String reason = attached.reason;
        putText(to, reason.length() > MAX_REASON_BYTES / 4 ? reason.substring(0, MAX_REASON_BYTES / 4) : reason, 2);
        return taken(to);
    }

    static Attached decodeAttached(byte[] payload) {
        try {
            ByteBuffer from = open(payload);
            String bootId = text(from, 1);
            Page page = page(from);
            byte[] token = take(from, from.get() & 0xff);
            Attached attached = new Attached(bootId, page, token, text(from, 2));
            requireEnd(from);
            return attached;
        } catch (BufferUnderflowException e) {
            throw corrupt("attached", e);
        }
    }

    static byte[] encodeOpen(List<RemoteHandle> handles) {
        ByteBuffer to = buffer(3 + handles.size() * HANDLE_BYTES);
        to.put((byte) VERSION).putShort((short) handles.size());
        for (RemoteHandle handle : handles) {
            to.putInt(handle.region()).putLong(handle.generation());
            to.putLong(handle.offset()).putLong(handle.length());
            to.put((byte) (handle.writable() ? 1 : 0)).putLong(handle.expiresAtNanos());
            byte[] capability = handle.capability();
            for (int i = 0; i < Capabilities.BYTES; i++) {
                to.put(i < capability.length ? capability[i] : 0);
            }
        }
        return to.array();
    }

    static List<RemoteHandle> decodeOpen(byte[] payload) {
        try {
            ByteBuffer from = open(payload);
            int count = count(from, HANDLE_BYTES);
            List<RemoteHandle> handles = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                int region = from.getInt();
                long generation = from.getLong();
                long offset = from.getLong();
                long length = from.getLong();
                boolean writable = from.get() == 1;
                long expiry = from.getLong();
                handles.add(new RemoteHandle(
                        region, generation, offset, length, writable, expiry, take(from, Capabilities.BYTES)));
            }
            requireEnd(from);
            return handles;
        } catch (BufferUnderflowException e) {
            throw corrupt("open", e);
        }
    }

    static byte[] encodeOpened(List<Opened> opened) {
        ByteBuffer to = buffer(3 + opened.size() * OPENED_BYTES);
        to.put((byte) VERSION).putShort((short) opened.size());
        for (Opened one : opened) {
            to.putLong(one.generationOffset).putLong(one.leftNanos);
        }
        return to.array();
    }

    static List<Opened> decodeOpened(byte[] payload, int expected) {
        try {
            ByteBuffer from = open(payload);
            int count = count(from, OPENED_BYTES);
            if (count != expected) {
                throw corrupt("opened " + count + " (expected: " + expected + ")", null);
            }
            List<Opened> opened = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                opened.add(new Opened(from.getLong(), from.getLong()));
            }
            requireEnd(from);
            return opened;
        } catch (BufferUnderflowException e) {
            throw corrupt("opened", e);
        }
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static byte[] taken(ByteBuffer to) {
        byte[] taken = new byte[to.position()];
        to.get(0, taken);
        return taken;
    }

    private static void putPage(ByteBuffer to, @Nullable Page page) {
        to.put((byte) (page == null ? 0 : 1));
        if (page != null) {
            to.putLong(page.device)
                    .putLong(page.inode)
                    .putLong(page.revocations)
                    .putShort((short) page.mailbox)
                    .put(page.tokenHash);
            putText(to, page.path, 2);
        }
    }

    private static @Nullable Page page(ByteBuffer from) {
        if (from.get() == 0) {
            return null;
        }
        long device = from.getLong();
        long inode = from.getLong();
        long revocations = from.getLong();
        int mailbox = from.getShort();
        return new Page(device, inode, revocations, mailbox, take(from, HASH_BYTES), text(from, 2));
    }

    private static void putText(ByteBuffer to, String text, int countBytes) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (countBytes == 1) {
            to.put((byte) bytes.length);
        } else {
            to.putShort((short) bytes.length);
        }
        to.put(bytes);
    }

    private static String text(ByteBuffer from, int countBytes) {
        int bytes = countBytes == 1 ? from.get() & 0xff : from.getShort() & 0xffff;
        return new String(take(from, bytes), StandardCharsets.UTF_8);
    }

    private static ByteBuffer open(byte[] payload) {
        ByteBuffer from = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
        int version = from.get();
        if (version != VERSION) {
            throw new MooncakeException(
                    MooncakeException.Code.PEER_REFUSED,
                    "shared memory protocol: " + version + " (expected: " + VERSION + ")");
        }
        return from;
    }

    private static int count(ByteBuffer from, int bytesEach) {
        int count = from.getShort() & 0xffff;
        if (count > MAX_HANDLES || count > from.remaining() / bytesEach) {
            throw corrupt("count " + count + " with " + from.remaining() + " bytes left", null);
        }
        return count;
    }

    private static byte[] take(ByteBuffer from, int bytes) {
        if (bytes > from.remaining()) {
            throw corrupt(bytes + " bytes with " + from.remaining() + " left", null);
        }
        byte[] taken = new byte[bytes];
        from.get(taken);
        return taken;
    }

    private static void requireEnd(ByteBuffer from) {
        if (from.hasRemaining()) {
            throw corrupt(from.remaining() + " trailing bytes", null);
        }
    }

    private static MooncakeException corrupt(String what, @Nullable Throwable cause) {
        return new MooncakeException(MooncakeException.Code.CORRUPT, "shared memory frame: " + what, cause);
    }
}
