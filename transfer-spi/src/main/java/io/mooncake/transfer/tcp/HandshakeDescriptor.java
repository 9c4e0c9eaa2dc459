// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * The keyed handshake at the start of every connection, version 2, little-endian, fixed lengths.
 *
 * <pre>
 * hello, connecting side                     challenge, accepting side
 *  0  magic "MKT1"              4 B           0  magic "MKT1"                 4 B
 *  4  lowest version            u8            4  version chosen               u8
 *  5  highest version           u8            5  status                       u8
 *  6  plane                     u8            6  zero                         2 B
 *  7  zero                      u8            8  own incarnation          2 x i64
 *  8  own incarnation       2 x i64          24  nonce                       32 B
 * 24  expected incarnation  2 x i64          56  write credit, bytes         i32
 *                                            60  zero                        12 B
 * 40  nonce                    32 B          72  MAC(accept, hello | 0..72)  32 B
 * 72  MAC(hello, 0..72)        32 B
 *
 * proof, connecting side: MAC(connect, hello | challenge)                    32 B
 * </pre>
 *
 * The write credit is where the one of {@link TcpFrameDescriptor} starts; other planes ignore it.
 *
 * <p>The three MACs have keys of their own, so that none can be reflected. The hello's MAC keeps strangers out before the second step; the
 * other two prove to each side that the other knows the secret now, not from a recording. A refusal carries no MAC: it can only deny.
 */
final class HandshakeDescriptor {
    /** "MKT1". */
    static final int MAGIC = 'M' | 'K' << 8 | 'T' << 16 | '1' << 24;

    static final int MIN_VERSION = 2;
    static final int MAX_VERSION = 2;
    static final int HELLO_BYTES = 104;
    static final int CHALLENGE_BYTES = 104;
    static final int PROOF_BYTES = 32;
    static final int NONCE_BYTES = 32;
    static final int AUTHENTICATED_BYTES = 72;

    static final int STATUS_OK = 0;
    static final int STATUS_REFUSED = 1;
    static final int STATUS_STALE_INCARNATION = 2;
    static final int STATUS_VERSION = 3;

    private HandshakeDescriptor() {}

    static void hello(ByteBuffer target, Plane plane, UUID own, UUID expected, byte[] nonce) {
        target.putInt(0, MAGIC).put(4, (byte) MIN_VERSION).put(5, (byte) MAX_VERSION);
        target.put(6, (byte) plane.code()).put(7, (byte) 0);
        putUuid(target, 8, own);
        putUuid(target, 24, expected);
        target.put(40, nonce);
    }

    static void challenge(ByteBuffer target, int version, int status, UUID own, byte[] nonce, int writeCreditBytes) {
        target.putInt(0, MAGIC).put(4, (byte) version).put(5, (byte) status).putShort(6, (short) 0);
        putUuid(target, 8, own);
        target.put(24, nonce).putInt(56, writeCreditBytes).putInt(60, 0).putLong(64, 0);
    }

    static int writeCreditBytes(ByteBuffer challenge) {
        return challenge.getInt(56);
    }

    static void putUuid(ByteBuffer target, int at, UUID id) {
        target.putLong(at, id.getMostSignificantBits()).putLong(at + 8, id.getLeastSignificantBits());
    }

    static UUID uuid(ByteBuffer source, int at) {
        return new UUID(source.getLong(at), source.getLong(at + 8));
    }
}
