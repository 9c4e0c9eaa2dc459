// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import java.util.Arrays;

/**
 * A map from the hash of a block and all before it to the block's id, the way of vLLM's automatic prefix caching: one probe a block, whole
 * blocks only. Open addressing over primitive arrays and a fast 64-bit hash, as good as this way can be done in Java; tokens are not
 * compared, so equal hashes would serve foreign blocks.
 */
final class ChainedHashContender implements Contender {
    private final int mask;
    private final long[] hashes;
    private final long[] ids;
    private final int[] ticks;
    private long[] found = new long[16];
    private int tick;

    ChainedHashContender(int blocks) {
        int size = Integer.highestOneBit(blocks) * 4;
        mask = size - 1;
        hashes = new long[size];
        ids = new long[size];
        ticks = new int[size];
    }

    @Override
    public String name() {
        return "chained-hash map";
    }

    @Override
    public void insert(int[] tokens, long[] newIds) {
        tick++;
        long hash = 0;
        for (int block = 0; block < newIds.length; block++) {
            hash = next(hash, tokens, block * Workload.BLOCK_TOKENS);
            int at = slot(hash);
            if (hashes[at] == 0) {
                hashes[at] = hash;
                ids[at] = newIds[block];
            }
            ticks[at] = tick;
        }
    }

    @Override
    public int match(int[] tokens) {
        tick++;
        int blocks = 0;
        long hash = 0;
        for (int at = 0; at + Workload.BLOCK_TOKENS <= tokens.length; at += Workload.BLOCK_TOKENS) {
            hash = next(hash, tokens, at);
            int slot = slot(hash);
            if (hashes[slot] == 0) {
                break;
            }
            if (blocks == found.length) {
                found = Arrays.copyOf(found, 2 * blocks);
            }
            found[blocks++] = ids[slot];
            ticks[slot] = tick;
        }
        return blocks * Workload.BLOCK_TOKENS;
    }

    private int slot(long hash) {
        int at = (int) (hash >>> 32) & mask;
        while (hashes[at] != 0 && hashes[at] != hash) {
            at = (at + 1) & mask;
        }
        return at;
    }

    private static long next(long parent, int[] tokens, int from) {
        long hash = parent + 0x9E3779B97F4A7C15L;
        for (int i = from; i < from + Workload.BLOCK_TOKENS; i += 2) {
            hash = (hash ^ ((long) tokens[i] << 32 | tokens[i + 1])) * 0xD6E8FEB86659FD93L;
            hash ^= hash >>> 32;
        }
        return hash == 0 ? 1 : hash;
    }

    @Override
    public long memoryBytes() {
        return 20L * hashes.length;
    }

    @Override
    public boolean toTheToken() {
        return false;
    }
}
