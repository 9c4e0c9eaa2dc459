// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.PrefixLease;
import java.util.Random;
import org.apache.arrow.memory.ArrowBuf;

/** Blocks whose bytes say which prompt, block and offset they are of: wrong bytes and right bytes of another block both show. */
public final class TestBlocks {
    private TestBlocks() {}

    /** A prompt of {@code length} tokens that depends on {@code seed} alone. */
    public static int[] prompt(long seed, int length) {
        Random random = new Random(seed);
        return random.ints(length, 0, 30_000).toArray();
    }

    /** The byte at {@code offset} of block {@code index} of a prompt. */
    static byte payload(int[] tokens, int blockTokens, int index, int offset) {
        int hash = 17;
        for (int i = 0; i < (index + 1) * blockTokens; i++) {
            hash = hash * 31 + tokens[i];
        }
        return (byte) ((hash + offset * 0x9E3779B1) >>> 11);
    }

    /** Stores all whole blocks of {@code tokens} that are not cached yet. @return blocks stored */
    public static int store(KvPool pool, int[] tokens) {
        int blockTokens = pool.identity().blockTokens();
        try (PrefixLease hit = pool.withoutLookup();
                BlockWriter writer = pool.extend(hit, tokens)) {
            while (writer.hasNext()) {
                int index = writer.blockIndex();
                fill(writer.next(), pool, tokens, blockTokens, index);
            }
            return writer.publish();
        }
    }

    private static void fill(ArrowBuf block, KvPool pool, int[] tokens, int blockTokens, int index) {
        for (int offset = 0; offset < pool.layout().payloadBytes(); offset++) {
            block.setByte(offset, payload(tokens, blockTokens, index, offset));
        }
    }

    /** Takes a prefix and checks every byte of it. @return a summary of the lease, closed */
    public static Taken take(KvPool pool, int[] tokens) {
        return take(pool, tokens, Deadline.ofMillis(60_000));
    }

    /** The same with another patience. */
    public static Taken take(KvPool pool, int[] tokens, Deadline deadline) {
        try (PrefixLease lease = pool.acquire(tokens, deadline)) {
            int blockTokens = pool.identity().blockTokens();
            for (int index = 0; index < lease.blockCount(); index++) {
                ArrowBuf block = lease.block(index);
                for (int offset = 0; offset < pool.layout().payloadBytes(); offset++) {
                    byte expected = payload(tokens, blockTokens, index, offset);
                    if (block.getByte(offset) != expected) {
                        throw new AssertionError("block " + index + " offset " + offset + ": " + block.getByte(offset)
                                + " (expected: " + expected + ")");
                    }
                }
            }
            return new Taken(
                    lease.matchedTokens(),
                    lease.localTokens(),
                    lease.remoteTokens(),
                    lease.missReason().name());
        }
    }

    /** What a lease was. */
    public record Taken(int matched, int local, int remote, String reason) {}
}
