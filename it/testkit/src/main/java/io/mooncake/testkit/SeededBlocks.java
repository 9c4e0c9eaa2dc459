// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.PrefixLease;
import java.util.Random;
import org.apache.arrow.memory.ArrowBuf;

/**
 * Blocks for tests without a model: their bytes follow from the prompt, the block and the offset, so that wrong bytes and right bytes of
 * another block both show. Threading: safe for all threads.
 */
public final class SeededBlocks {
    private static final int VOCABULARY = 30_000;
    private static final int GOLDEN = 0x9E3779B1;

    private SeededBlocks() {}

    /** A prompt of {@code length} tokens that depends on {@code seed} alone. */
    public static int[] prompt(long seed, int length) {
        return new Random(seed).ints(length, 0, VOCABULARY).toArray();
    }

    /** Stores all whole blocks of {@code tokens}. @return blocks that were not there before */
    public static int store(KvPool pool, int[] tokens) {
        int payloadBytes = pool.layout().payloadBytes();
        byte[] bytes = new byte[payloadBytes];
        try (PrefixLease nothing = pool.withoutLookup();
                BlockWriter writer = pool.extend(nothing, tokens)) {
            while (writer.hasNext()) {
                fill(bytes, tokens, pool.identity().blockTokens(), writer.blockIndex());
                writer.next().setBytes(0, bytes);
            }
            return writer.publish();
        }
    }

    /** Takes the prompt's prefix, wherever it is, checks every byte of it and gives it back. Waits a minute at most. */
    public static Taken take(KvPool pool, int[] tokens) {
        return take(pool, tokens, Deadline.ofMillis(60_000));
    }

    /**
     * The same with another patience.
     *
     * @throws MooncakeException INTERNAL when a byte is wrong, with block and offset
     */
    public static Taken take(KvPool pool, int[] tokens, Deadline deadline) {
        int payloadBytes = pool.layout().payloadBytes();
        byte[] expected = new byte[payloadBytes];
        byte[] found = new byte[payloadBytes];
        try (PrefixLease lease = pool.acquire(tokens, deadline)) {
            for (int index = 0; index < lease.blockCount(); index++) {
                fill(expected, tokens, pool.identity().blockTokens(), index);
                ArrowBuf block = lease.block(index);
                block.getBytes(0, found);
                requireSame(expected, found, index);
            }
            return new Taken(
                    lease.matchedTokens(),
                    lease.localTokens(),
                    lease.remoteTokens(),
                    lease.missReason().name());
        }
    }

    private static void requireSame(byte[] expected, byte[] found, int index) {
        int offset = java.util.Arrays.mismatch(expected, found);
        if (offset >= 0) {
            throw new MooncakeException(
                    MooncakeException.Code.INTERNAL,
                    "block " + index + ", offset " + offset + ": " + found[offset] + " (expected: " + expected[offset]
                            + ")");
        }
    }

    private static void fill(byte[] bytes, int[] tokens, int blockTokens, int index) {
        int hash = 17;
        for (int i = 0; i < (index + 1) * blockTokens; i++) {
            hash = hash * 31 + tokens[i];
        }
        for (int offset = 0; offset < bytes.length; offset++) {
            bytes[offset] = (byte) ((hash + offset * GOLDEN) >>> 11);
        }
    }

    /**
     * What was reused.
     *
     * @param matched tokens in all
     * @param local those that the node had
     * @param remote those that came from others
     * @param reason name of the reason why nothing longer was there
     */
    public record Taken(int matched, int local, int remote, String reason) {}
}
