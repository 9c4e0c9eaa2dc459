// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import io.mooncake.memory.BlockKey;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * What an owner says about a block it leases, version 1, big-endian. The reader compares all of it with what it asked for, so that bytes
 * of another block are never taken, whatever went wrong with a key.
 *
 * <pre>
 *   0   1  version = 1
 *   1  32  key
 *  33  32  parent key
 *  65   4  depth
 *  69   4  tokens t
 *  73 4*t  token ids
 * </pre>
 */
final class LeaseDescriptionDescriptor {
    static final int VERSION = 1;
    private static final int HEADER_BYTES = 73;

    private LeaseDescriptionDescriptor() {}

    static byte[] encode(BlockKey key, BlockKey parent, int depth, int[] tokens) {
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + 4 * tokens.length);
        out.put((byte) VERSION);
        key.write(out, 1);
        parent.write(out, 33);
        out.position(65).putInt(depth).putInt(tokens.length);
        for (int token : tokens) {
            out.putInt(token);
        }
        return out.array();
    }

    /**
     * What a description says. Nothing of it is proven: parent and tokens must give the key.
     *
     * @param key the block's key
     * @param parent the key before it, or the tenant's root
     * @param depth index in its chain
     * @param tokens its own tokens
     */
    record Described(BlockKey key, BlockKey parent, int depth, int[] tokens) {}

    /** What {@code description} says of a block of {@code count} tokens; null when it is none. */
    static @Nullable Described decode(byte[] description, int count) {
        if (description.length != HEADER_BYTES + 4 * count) {
            return null;
        }
        ByteBuffer in = ByteBuffer.wrap(description);
        if (in.get() != VERSION || in.getInt(69) != count) {
            return null;
        }
        int[] tokens = new int[count];
        in.position(HEADER_BYTES).asIntBuffer().get(tokens);
        return new Described(BlockKey.read(in, 1), BlockKey.read(in, 33), in.getInt(65), tokens);
    }

    /** Whether {@code description} is of exactly the block of {@code tokens[offset..offset+count)} that the caller wants. */
    static boolean describes(
            byte[] description, BlockKey key, BlockKey parent, int depth, int[] tokens, int offset, int count) {
        if (description.length != HEADER_BYTES + 4 * count) {
            return false;
        }
        try {
            ByteBuffer in = ByteBuffer.wrap(description);
            if (in.get() != VERSION
                    || !BlockKey.read(in, 1).equals(key)
                    || !BlockKey.read(in, 33).equals(parent)
                    || in.getInt(65) != depth
                    || in.getInt(69) != count) {
                return false;
            }
            in.position(HEADER_BYTES);
            for (int i = 0; i < count; i++) {
                if (in.getInt() != tokens[offset + i]) {
                    return false;
                }
            }
            return true;
        } catch (BufferUnderflowException e) {
            return false;
        }
    }
}
