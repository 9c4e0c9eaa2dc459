// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;

/**
 * The names of the blocks of a prompt, computed by the processor's own SHA-256 instructions in one call: each is
 *
 * <pre>SHA-256( 30 20000000 parent:32 31 length:4 tokens )</pre>
 *
 * <p>with the length of the tokens in bytes and the tokens themselves little-endian, 4 bytes each; {@code ChainKeys} says what that means, and is
 * the other implementation. A digest is four longs, its bytes read big-endian.
 *
 * <p>Tokens are copied out of the Java heap 16 KiB at a time, so no collector waits for a long prompt. Safe for all threads; allocates nothing.
 */
public final class ChainHash {
    /** Longs of a digest. */
    public static final int LONGS = 4;

    /** Fewest tokens of a block. */
    public static final int MIN_BLOCK_TOKENS = 2;

    /** Most tokens of a block; COPIED_TOKENS in chain.c. */
    public static final int MAX_BLOCK_TOKENS = 4096;

    private ChainHash() {}

    /** Whether the bridge is loaded and this processor has the instructions. */
    public static boolean available() {
        return Holder.AVAILABLE;
    }

    /**
     * Names {@code blocks} blocks of {@code blockTokens} from {@code tokens[offset]} on.
     *
     * @param parent0 first word of the digest before the first block
     * @param digests where the digests go, four longs each, from 0
     * @throws MooncakeException INVALID_ARGUMENT when blocks are of other than 2..4096 tokens, or an array is too short;
     *     CONFIGURATION unless {@link #available()}
     */
    public static void chain(
            long parent0,
            long parent1,
            long parent2,
            long parent3,
            int[] tokens,
            int offset,
            int blockTokens,
            int blocks,
            long[] digests) {
        if (!available()) {
            throw new MooncakeException(
                    Code.CONFIGURATION,
                    "SHA-256 in C: not here, " + NativeBridge.availability()
                            + " (expected: the bridge, and a processor with the instructions)");
        }
        if (blockTokens < MIN_BLOCK_TOKENS || blockTokens > MAX_BLOCK_TOKENS) {
            throw MooncakeException.invalid("blockTokens", blockTokens, MIN_BLOCK_TOKENS + ".." + MAX_BLOCK_TOKENS);
        }
        if (offset < 0 || blocks < 0 || (long) blocks * blockTokens > (long) tokens.length - offset) {
            throw MooncakeException.invalid(
                    "blocks", blocks + " from token " + offset, "within " + tokens.length + " tokens");
        }
        if (digests.length / LONGS < blocks) {
            throw MooncakeException.invalid("digests", digests.length, "at least " + LONGS + " longs a block");
        }
        NativeCalls.chainKeys(parent0, parent1, parent2, parent3, tokens, offset, blockTokens, blocks, digests);
    }

    private static final class Holder {
        static final boolean AVAILABLE = NativeBridge.available() && NativeCalls.chainSupported();
    }
}
