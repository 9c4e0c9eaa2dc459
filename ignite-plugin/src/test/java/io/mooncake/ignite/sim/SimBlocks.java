// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.transfer.internal.RawMemory;
import java.util.ArrayList;
import java.util.List;

/** Chains of blocks whose every byte follows from the key. */
final class SimBlocks {
    static final KvIdentity IDENTITY = new KvIdentity(
            "a".repeat(64), "b".repeat(64), "", "test-1", "none", ReuseMode.EXACT, KvDataType.F32, 2, 1, 4, 4, 1, 0);
    static final int VOCABULARY = 1_000;
    static final int DEPTH = 3;

    private SimBlocks() {}

    /** One block. */
    record Block(BlockKey key, BlockKey parent, int depth, int[] tokens) {}

    /** The chain of that number, parents first. */
    static List<Block> chain(BlockKey root, int number) {
        List<Block> blocks = new ArrayList<>();
        BlockKey parent = root;
        for (int depth = 0; depth < DEPTH; depth++) {
            int[] tokens = {number, depth, 1, 2};
            BlockKey key = new ChainKeys().next(parent, tokens, 0, tokens.length);
            blocks.add(new Block(key, parent, depth, tokens));
            parent = key;
        }
        return blocks;
    }

    private static byte[] payload(BlockKey key, int bytes) {
        byte[] payload = new byte[bytes];
        for (int i = 0; i < bytes; i++) {
            long mixed = (key.word0() ^ (i >>> 3)) * 0xBF58_476D_1CE4_E5B9L;
            payload[i] = (byte) (mixed >>> 8 * (i & 7));
        }
        return payload;
    }

    static void fill(BlockKey key, long address, int bytes) {
        RawMemory.put(address, payload(key, bytes));
    }

    static boolean filled(BlockKey key, long address, int bytes) {
        byte[] read = new byte[bytes];
        RawMemory.get(address, read);
        return java.util.Arrays.equals(read, payload(key, bytes));
    }
}
