// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.PrefixLease;
import org.apache.arrow.memory.ArrowBuf;

/** Prompts and blocks for tests of several packages. */
public final class Blocks {
    /** Tokens a block of the tests' pools. */
    public static final int BLOCK_TOKENS = 16;

    private Blocks() {}

    /** A prompt of {@code blocks} full blocks and one token more; prompts of one {@code family} share their first {@code shared} blocks. */
    public static int[] prompt(int family, int member, int shared, int blocks) {
        int[] tokens = new int[blocks * BLOCK_TOKENS + 1];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = i < shared * BLOCK_TOKENS ? family * 31 + i % 7 : 1_000 + member * 13 + i % 5;
        }
        return tokens;
    }

    /** Stores all full blocks of {@code tokens}. */
    public static void store(KvPool pool, int[] tokens) {
        try (PrefixLease hit = pool.acquire(tokens, Deadline.ofMillis(60_000));
                BlockWriter writer = pool.extend(hit, tokens)) {
            while (writer.hasNext()) {
                byte seed = (byte) (writer.blockIndex() + tokens[0]);
                ArrowBuf block = writer.next();
                for (long i = 0; i < block.capacity(); i++) {
                    block.setByte(i, (byte) (seed + i));
                }
            }
            writer.publish();
        }
    }

    /** Looks {@code tokens} up and gives the lease back. */
    public static int reuse(KvPool pool, int[] tokens) {
        try (PrefixLease hit = pool.acquire(tokens, Deadline.ofMillis(60_000))) {
            return hit.matchedTokens();
        }
    }
}
