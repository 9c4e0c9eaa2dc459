// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Claim;
import io.mooncake.transfer.internal.StatusCodes;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Frames of the data plane after the handshake, version 3, little-endian.
 *
 * <pre>
 * request                                       response
 *   0  magic "MKQ1"                   4 B         0  magic "MKR1"              4 B
 *   4  version                        u8          4  version                   u8
 *   5  operation (1 read, 2 write)    u8          5  status                    u8
 *   6  flags                          u16         6  write credit, 64 KiB      u16
 *   8  sequence, 1 2 3 ...            i64         8  sequence                  i64
 *  16  region                         i32        16  payload bytes             i32
 *  20  access length, bytes           i32        20  CRC32C of 0..20           i32
 *  24  generation                     i64
 *  32  handle's offset                i64       trailer, after the payload
 *  40  handle's length                i64         0  magic "MKE1"              4 B
 *  48  handle's expiry                i64         4  status after sending      u8
 *  56  access offset in the handle    i64         5  zero                      3 B
 *  64  capability                    32 B         8  sequence, its lower half   i32
 *  96  CRC32C of 0..96                i32        12  CRC32C of 0..12            i32
 * 100  zero                           4 B
 * </pre>
 *
 * Flags: 1 the handle may be written, 2 nothing else will be asked before the answer has come, so that the owner may stay awake for what
 * comes after it.
 *
 * <p>A read is answered by a response, and when its status is COMPLETED by the payload and a trailer; only a trailer that says COMPLETED makes
 * the payload valid. A write carries its payload behind the request and is answered by a response alone. Answers come in the order of
 * requests. A frame that breaks any of this ends the connection.
 *
 * <p>A client starts a write only while it has fewer bytes of writes unanswered than the write credit of the latest answer, or of the
 * handshake before the first one; with nothing unanswered it may always start one, so a credit of 0 means one at a time.
 */
final class TcpFrameDescriptor {
    static final int REQUEST_MAGIC = 'M' | 'K' << 8 | 'Q' << 16 | '1' << 24;
    static final int RESPONSE_MAGIC = 'M' | 'K' << 8 | 'R' << 16 | '1' << 24;
    static final int TRAILER_MAGIC = 'M' | 'K' << 8 | 'E' << 16 | '1' << 24;
    static final int VERSION = 3;
    static final int REQUEST_BYTES = 104;
    static final int RESPONSE_BYTES = 24;
    static final int TRAILER_BYTES = 16;
    static final int READ = 1;
    static final int WRITE = 2;
    private static final int WRITABLE = 1;
    private static final int ALONE = 2;
    /** Most bytes of one access. */
    static final int MAX_ACCESS_BYTES = 1 << 30;
    /** Unit of the write credit in a response. */
    static final int CREDIT_UNIT_BYTES = 64 << 10;
    /** Write credit before the first answer. */
    static final int FIRST_WRITE_CREDIT_BYTES = 1 << 20;

    /** A request alone is sent in pieces of this size where it has two and more. */
    static final int PIECE_BYTES = 32 << 10;

    private static final int CAPABILITY = 64;
    private static final int CAPABILITY_BYTES = 32;
    private static final int REQUEST_CRC = 96;
    private static final int REQUEST_ZERO = 100;
    private static final int RESPONSE_CRC = 20;
    private static final int TRAILER_CRC = 12;

    private TcpFrameDescriptor() {}

    /** A decoded request; mutable, one for each connection. */
    static final class Request {
        boolean alone;
        long sequence;
        final Claim claim = new Claim();

        /** Bytes to move; an int on the wire. */
        int length() {
            return (int) claim.length;
        }
    }

    /** Writes a request at the position of {@code target} and advances it. */
    static void putRequest(
            ByteBuffer target,
            boolean write,
            boolean alone,
            long sequence,
            RemoteHandle handle,
            long accessOffset,
            int accessLength,
            CRC32C crc) {
        int at = target.position();
        target.putInt(at, REQUEST_MAGIC).put(at + 4, (byte) VERSION).put(at + 5, (byte) (write ? WRITE : READ));
        int flags = (handle.writable() ? WRITABLE : 0) | (alone ? ALONE : 0);
        target.putShort(at + 6, (short) flags).putLong(at + 8, sequence);
        target.putInt(at + 16, handle.region()).putInt(at + 20, accessLength);
        target.putLong(at + 24, handle.generation()).putLong(at + 32, handle.offset());
        target.putLong(at + 40, handle.length()).putLong(at + 48, handle.expiresAtNanos());
        target.putLong(at + 56, accessOffset);
        byte[] capability = handle.capability();
        for (int i = 0; i < CAPABILITY_BYTES; i++) {
            target.put(at + CAPABILITY + i, i < capability.length ? capability[i] : 0);
        }
        target.putInt(at + REQUEST_CRC, crc(target, at, REQUEST_CRC, crc)).putInt(at + REQUEST_ZERO, 0);
        target.position(at + REQUEST_BYTES);
    }

    /** Reads the request at {@code at}; false when it is none. */
    static boolean readRequest(ByteBuffer source, int at, Request into, CRC32C crc) {
        if (source.getInt(at) != REQUEST_MAGIC
                || source.get(at + 4) != VERSION
                || source.getInt(at + REQUEST_ZERO) != 0
                || source.getInt(at + REQUEST_CRC) != crc(source, at, REQUEST_CRC, crc)) {
            return false;
        }
        int operation = source.get(at + 5);
        int flags = source.getShort(at + 6);
        Claim claim = into.claim;
        into.sequence = source.getLong(at + 8);
        claim.write = operation == WRITE;
        into.alone = (flags & ALONE) != 0;
        claim.writable = (flags & WRITABLE) != 0;
        claim.region = source.getInt(at + 16);
        claim.length = source.getInt(at + 20);
        claim.generation = source.getLong(at + 24);
        claim.handleOffset = source.getLong(at + 32);
        claim.handleLength = source.getLong(at + 40);
        claim.expiresAtNanos = source.getLong(at + 48);
        claim.offset = source.getLong(at + 56);
        source.get(at + CAPABILITY, claim.capability, 0, CAPABILITY_BYTES);
        return (operation == READ || operation == WRITE)
                && (flags & ~(WRITABLE | ALONE)) == 0
                && claim.length >= 1
                && claim.length <= MAX_ACCESS_BYTES;
    }

    /** Writes a response at the position of {@code target} and advances it. */
    static void putResponse(
            ByteBuffer target,
            TransferStatus status,
            long sequence,
            int payloadBytes,
            int writeCreditBytes,
            CRC32C crc) {
        int at = target.position();
        target.putInt(at, RESPONSE_MAGIC).put(at + 4, (byte) VERSION).put(at + 5, (byte) StatusCodes.code(status));
        target.putShort(at + 6, (short) Math.min(0xffff, writeCreditBytes / CREDIT_UNIT_BYTES));
        target.putLong(at + 8, sequence).putInt(at + 16, payloadBytes);
        target.putInt(at + RESPONSE_CRC, crc(target, at, RESPONSE_CRC, crc));
        target.position(at + RESPONSE_BYTES);
    }

    /** The status of the response at {@code at}, or null when it is not the answer to {@code sequence} with so many bytes. */
    static @Nullable TransferStatus responseStatus(
            ByteBuffer source, int at, long sequence, int payloadBytes, CRC32C crc) {
        if (source.getInt(at) != RESPONSE_MAGIC
                || source.get(at + 4) != VERSION
                || source.getInt(at + RESPONSE_CRC) != crc(source, at, RESPONSE_CRC, crc)
                || source.getLong(at + 8) != sequence) {
            return null;
        }
        TransferStatus status = StatusCodes.status(source.get(at + 5));
        int expected = status == TransferStatus.COMPLETED ? payloadBytes : 0;
        return source.getInt(at + 16) == expected ? status : null;
    }

    /** The write credit of the response at {@code at}, which {@link #responseStatus} has accepted. */
    static long writeCreditBytes(ByteBuffer source, int at) {
        return (source.getShort(at + 6) & 0xffffL) * CREDIT_UNIT_BYTES;
    }

    /** Writes a trailer at the position of {@code target} and advances it. */
    static void putTrailer(ByteBuffer target, TransferStatus status, long sequence, CRC32C crc) {
        int at = target.position();
        target.putInt(at, TRAILER_MAGIC)
                .putInt(at + 4, StatusCodes.code(status))
                .putInt(at + 8, (int) sequence);
        target.putInt(at + TRAILER_CRC, crc(target, at, TRAILER_CRC, crc));
        target.position(at + TRAILER_BYTES);
    }

    /** The status of the trailer at {@code at}, or null when it is not the one of {@code sequence}. */
    static @Nullable TransferStatus trailerStatus(ByteBuffer source, int at, long sequence, CRC32C crc) {
        if (source.getInt(at) != TRAILER_MAGIC
                || source.getInt(at + 8) != (int) sequence
                || source.getInt(at + TRAILER_CRC) != crc(source, at, TRAILER_CRC, crc)
                || source.getInt(at + 4) >>> 8 != 0) {
            return null;
        }
        return StatusCodes.status(source.get(at + 4));
    }

    private static int crc(ByteBuffer frame, int at, int length, CRC32C crc) {
        int position = frame.position();
        int limit = frame.limit();
        crc.reset();
        crc.update(frame.limit(at + length).position(at));
        frame.limit(limit).position(position);
        return (int) crc.getValue();
    }
}
