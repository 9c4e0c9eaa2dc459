// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.ControlPlane;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The one frame of the control plane, version 2, little-endian; a ZeroMQ message carries exactly one (events: behind their topic).
 *
 * <pre>
 *  0  magic "MKC1"                                        4 B
 *  4  version                                             u8
 *  5  type (1 request, 2 reply, 3 error, 4 event, 5 work) u8
 *  6  error (0 none, 1 refused, 2 stale, 3 busy)          u8
 *  7  bytes of the name                                   u8
 *  8  correlation, chosen by the asking side              i64
 * 16  sender's incarnation                            2 x i64
 * 32  target's incarnation, zero in events            2 x i64
 * 48  name of the service, topic or queue, ASCII, zero-padded   32 B
 * 80  payload bytes                                       i32
 * 84  CRC32C of 0..84 and the payload                     i32
 * 88  payload; of an error: UTF-8 text
 * </pre>
 *
 * Nothing else would tell a request for other keys, or the grant of another range, from what was said: the network's own sums are weak.
 */
final class ControlFrameDescriptor {
    static final int MAGIC = 'M' | 'K' << 8 | 'C' << 16 | '1' << 24;
    static final int VERSION = 2;
    static final int HEADER_BYTES = 88;
    static final int MAX_NAME_BYTES = 32;
    static final int MAX_FRAME_BYTES = HEADER_BYTES + ControlPlane.MAX_PAYLOAD_BYTES;

    static final int REQUEST = 1;
    static final int REPLY = 2;
    static final int ERROR = 3;
    static final int EVENT = 4;
    static final int WORK = 5;

    static final int NONE = 0;
    static final int REFUSED = 1;
    static final int STALE = 2;
    static final int BUSY = 3;

    static final int CHECKSUM = 84;

    private ControlFrameDescriptor() {}

    /** A decoded frame. */
    record Frame(int type, int error, long correlation, UUID sender, UUID target, String name, byte[] payload) {
        String text() {
            return new String(payload, StandardCharsets.UTF_8);
        }
    }

    static byte[] encode(Frame frame) {
        byte[] name = frame.name.getBytes(StandardCharsets.US_ASCII);
        ByteBuffer to = ByteBuffer.allocate(HEADER_BYTES + frame.payload.length).order(ByteOrder.LITTLE_ENDIAN);
        to.putInt(MAGIC).put((byte) VERSION).put((byte) frame.type).put((byte) frame.error);
        to.put((byte) name.length).putLong(frame.correlation);
        to.putLong(frame.sender.getMostSignificantBits()).putLong(frame.sender.getLeastSignificantBits());
        to.putLong(frame.target.getMostSignificantBits()).putLong(frame.target.getLeastSignificantBits());
        to.put(name).position(80).putInt(frame.payload.length);
        to.position(HEADER_BYTES).put(frame.payload);
        return to.putInt(CHECKSUM, checksum(to.array())).array();
    }

    /** What belongs at {@link #CHECKSUM} of a whole frame. */
    static int checksum(byte[] frame) {
        CRC32C crc = new CRC32C();
        crc.update(frame, 0, CHECKSUM);
        crc.update(frame, HEADER_BYTES, frame.length - HEADER_BYTES);
        return (int) crc.getValue();
    }

    /** Decodes, or null when it is no frame: every length is checked before it is used. */
    static @Nullable Frame decode(byte @Nullable [] bytes) {
        if (bytes == null || bytes.length < HEADER_BYTES || bytes.length > MAX_FRAME_BYTES) {
            return null;
        }
        ByteBuffer from = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int type = from.get(5);
        int error = from.get(6);
        int nameBytes = from.get(7);
        int payloadBytes = from.getInt(80);
        if (from.getInt(0) != MAGIC
                || from.get(4) != VERSION
                || type < REQUEST
                || type > WORK
                || error < NONE
                || error > BUSY
                || nameBytes < 1
                || nameBytes > MAX_NAME_BYTES
                || payloadBytes != bytes.length - HEADER_BYTES
                || from.getInt(CHECKSUM) != checksum(bytes)
                || !name(bytes, nameBytes)) {
            return null;
        }
        byte[] payload = new byte[payloadBytes];
        from.get(HEADER_BYTES, payload);
        return new Frame(
                type,
                error,
                from.getLong(8),
                new UUID(from.getLong(16), from.getLong(24)),
                new UUID(from.getLong(32), from.getLong(40)),
                new String(bytes, 48, nameBytes, StandardCharsets.US_ASCII),
                payload);
    }

    /** Whether a name that {@link #requireName} allows lies in its field, with zeros behind it. */
    private static boolean name(byte[] frame, int length) {
        for (int i = 0; i < MAX_NAME_BYTES; i++) {
            byte character = frame[48 + i];
            if (i < length ? character <= 32 || character == 127 : character != 0) {
                return false;
            }
        }
        return true;
    }

    /** Checks a service or topic name. */
    static String requireName(String what, String name) {
        boolean ascii = name.chars().allMatch(c -> c > 32 && c < 127);
        if (name.isEmpty() || name.length() > MAX_NAME_BYTES || !ascii) {
            throw MooncakeException.invalid(what, name, "1..32 printable ASCII characters without spaces");
        }
        return name;
    }

    static byte[] requirePayload(byte[] payload) {
        if (payload.length > ControlPlane.MAX_PAYLOAD_BYTES) {
            throw MooncakeException.invalid(
                    "payload", payload.length + " bytes", "at most " + ControlPlane.MAX_PAYLOAD_BYTES);
        }
        return payload;
    }

    /** A topic as ZeroMQ matches it: by prefix, hence the terminator. */
    static byte[] topicKey(String topic) {
        byte[] ascii = topic.getBytes(StandardCharsets.US_ASCII);
        return java.util.Arrays.copyOf(ascii, ascii.length + 1);
    }
}
