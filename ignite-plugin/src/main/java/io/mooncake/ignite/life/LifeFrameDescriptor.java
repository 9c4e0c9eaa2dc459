// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.life;

import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;

/**
 * Question and answer of service {@code mooncake.life}, version 1, big-endian. The question is the version alone: who asks is known by its connection.
 *
 * <pre>
 *   0  u8   version = 1
 *   1  u8   flags: 1 the asking life is a member, 2 who answers is fenced itself
 *   2  i32  server nodes, at least 0
 *   6  i64  the least order of them
 *  14
 * </pre>
 *
 * Bytes after these are of a later version and are not read.
 */
final class LifeFrameDescriptor {
    private static final int VERSION = 1;
    private static final int BYTES = 14;
    private static final int MEMBER = 1;
    private static final int FENCED = 2;

    private LifeFrameDescriptor() {}

    static byte[] question() {
        return new byte[] {VERSION};
    }

    static byte[] encode(LifeAnswer answer) {
        return ByteBuffer.allocate(BYTES)
                .put((byte) VERSION)
                .put((byte) ((answer.member() ? MEMBER : 0) | (answer.fenced() ? FENCED : 0)))
                .putInt(answer.servers())
                .putLong(answer.oldest())
                .array();
    }

    /** @throws MooncakeException CORRUPT when it is none */
    static LifeAnswer decode(byte[] bytes) {
        if (bytes.length < BYTES || bytes[0] != VERSION) {
            throw corrupt(bytes.length + " bytes", "version " + VERSION + ", at least " + BYTES + " bytes");
        }
        ByteBuffer in = ByteBuffer.wrap(bytes, 1, BYTES - 1);
        int flags = in.get();
        int servers = in.getInt();
        if (servers < 0) {
            throw corrupt("servers " + servers, "at least 0");
        }
        return new LifeAnswer((flags & MEMBER) != 0, (flags & FENCED) != 0, servers, in.getLong());
    }

    private static MooncakeException corrupt(String value, String expected) {
        return new MooncakeException(
                MooncakeException.Code.CORRUPT, "life answer: " + value + " (expected: " + expected + ")");
    }
}
