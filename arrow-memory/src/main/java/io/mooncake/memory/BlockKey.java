// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;

/**
 * The name of a block in every node: the 256-bit chain digest over identity, tenant salt and all tokens from the start of the prompt to the
 * end of the block (see {@link io.mooncake.memory.block.ChainKeys}). The four words are the digest's bytes read big-endian, so that the
 * order of keys is the order of their bytes and of their hexadecimal texts.
 *
 * <p>Immutable; safe for all threads.
 *
 * @param word0 bytes 0..7
 * @param word1 bytes 8..15
 * @param word2 bytes 16..23
 * @param word3 bytes 24..31
 */
public record BlockKey(long word0, long word1, long word2, long word3) implements Comparable<BlockKey> {
    /** Bytes of a key. */
    public static final int BYTES = 32;

    /**
     * The key in {@code bytes}.
     *
     * @throws MooncakeException INVALID_ARGUMENT unless there are exactly 32
     */
    public static BlockKey of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw MooncakeException.invalid("block key bytes", bytes.length, String.valueOf(BYTES));
        }
        return read(ByteBuffer.wrap(bytes), 0);
    }

    /** The key at absolute position {@code index} of {@code buffer}, whatever the buffer's byte order. */
    public static BlockKey read(ByteBuffer buffer, int index) {
        ByteBuffer view = buffer.duplicate().order(ByteOrder.BIG_ENDIAN);
        return new BlockKey(
                view.getLong(index), view.getLong(index + 8), view.getLong(index + 16), view.getLong(index + 24));
    }

    /**
     * Parses 64 lower-case hexadecimal digits.
     *
     * @throws MooncakeException INVALID_ARGUMENT when {@code hex} is anything else
     */
    public static BlockKey parse(String hex) {
        if (hex.length() != 2 * BYTES || !hex.chars().allMatch(c -> (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            throw MooncakeException.invalid("block key", hex, "64 lower-case hexadecimal digits");
        }
        return of(HexFormat.of().parseHex(hex));
    }

    /** Writes the 32 bytes at absolute position {@code index} of {@code buffer}, whatever the buffer's byte order. */
    public void write(ByteBuffer buffer, int index) {
        ByteBuffer view = buffer.duplicate().order(ByteOrder.BIG_ENDIAN);
        view.putLong(index, word0);
        view.putLong(index + 8, word1);
        view.putLong(index + 16, word2);
        view.putLong(index + 24, word3);
    }

    /** The 32 bytes of the digest. */
    public byte[] toBytes() {
        byte[] bytes = new byte[BYTES];
        write(ByteBuffer.wrap(bytes), 0);
        return bytes;
    }

    /** 64 lower-case hexadecimal digits. */
    public String hex() {
        return HexFormat.of().formatHex(toBytes());
    }

    /** The digest is uniform already: any part of it is a good hash. */
    @Override
    public int hashCode() {
        return (int) word0;
    }

    @Override
    public int compareTo(BlockKey other) {
        int order = Long.compareUnsigned(word0, other.word0);
        if (order == 0) {
            order = Long.compareUnsigned(word1, other.word1);
        }
        if (order == 0) {
            order = Long.compareUnsigned(word2, other.word2);
        }
        return order == 0 ? Long.compareUnsigned(word3, other.word3) : order;
    }

    @Override
    public String toString() {
        return hex();
    }
}
