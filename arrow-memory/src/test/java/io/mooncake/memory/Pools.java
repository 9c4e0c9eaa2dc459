// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.block.SlabAccess;
import io.mooncake.memory.index.ChainIndex;
import io.mooncake.memory.index.IndexAccess;
import io.mooncake.memory.policy.Policies;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import org.apache.arrow.memory.ArrowBuf;

/** Small pools for tests, and blocks that say what they are in every byte. */
public final class Pools {
    public static final int VOCABULARY = 1000;
    public static final int BLOCK_TOKENS = 8;

    private Pools() {}

    /** From now on; a constant would count from when this class was loaded. */
    public static Deadline soon() {
        return Deadline.ofMillis(60_000);
    }

    public static KvIdentity identity(ReuseMode mode) {
        return new KvIdentity(
                "ab".repeat(32),
                "cd".repeat(32),
                "",
                "test-1",
                "rope(base=10000)",
                mode,
                KvDataType.F32,
                3,
                2,
                4,
                BLOCK_TOKENS,
                1,
                0);
    }

    /** A pool of {@code blocks} blocks in a region of its own, which goes with the pool; the least recently used leaf goes first. */
    public static LocalKvPool pool(KvIdentity identity, int blocks) {
        return pool(identity, blocks, "lru");
    }

    /** The same under another policy. */
    public static LocalKvPool pool(KvIdentity identity, int blocks, String policy) {
        long bytes = blocks * LocalKvPool.blockStrideBytes(identity);
        try (MemoryRegion region = MemoryRegion.allocate(bytes)) {
            return LocalKvPool.create("test", identity, VOCABULARY, region, 0, bytes, policy);
        }
    }

    /** The same with a clock, for tests that say when. */
    static LocalKvPool pool(KvIdentity identity, int blocks, String policy, LongSupplier clock) {
        long bytes = blocks * LocalKvPool.blockStrideBytes(identity);
        MemoryRegion region = MemoryRegion.allocate(bytes);
        BlockSlab slab = new BlockSlab(region.address(), 0, bytes, BlockLayout.of(identity));
        return new LocalKvPool(
                "test",
                identity,
                VOCABULARY,
                slab,
                new ChainIndex(identity.blockTokens(), VOCABULARY, slab.slots()),
                Policies.byName(policy, blocks, clock),
                clock,
                SafetyChecks.ALL,
                region::close);
    }

    /** The same with checks that may be off and hashes that may be short. */
    static LocalKvPool pool(
            KvIdentity identity,
            int blocks,
            SafetyChecks checks,
            int hashMask,
            boolean compareInFull,
            boolean generations) {
        long bytes = blocks * LocalKvPool.blockStrideBytes(identity);
        MemoryRegion region = MemoryRegion.allocate(bytes);
        BlockLayout layout = BlockLayout.of(identity);
        BlockSlab slab = SlabAccess.slab(region.address(), 0, bytes, layout, generations);
        ChainIndex index = IndexAccess.index(layout.blockTokens(), VOCABULARY, slab.slots(), hashMask, compareInFull);
        return new LocalKvPool(
                "test",
                identity,
                VOCABULARY,
                slab,
                index,
                Policies.lru(slab.slots()),
                System::nanoTime,
                checks,
                region::close);
    }

    public static int[] tokens(SplittableRandom random, int count) {
        return random.ints(count, 0, VOCABULARY).toArray();
    }

    /** Byte {@code index} of layer {@code layer} of the block {@code key} of {@code tenant}. */
    static byte byteAt(String tenant, BlockKey key, int layer, int index) {
        long mixed = (key.word0() ^ tenant.hashCode() * 0x9E3779B97F4A7C15L ^ ((long) layer << 48) ^ (index >>> 3))
                * 0xBF58476D1CE4E5B9L;
        return (byte) (mixed >>> (8 * (index & 7)));
    }

    /** Memory that the test holds by other means. */
    static ArrowBuf view(long address, int bytes) {
        return new BorrowedViews("test").of(address, bytes);
    }

    static void fill(ArrowBuf payload, BlockLayout layout, String tenant, BlockKey key) {
        for (int layer = 0; layer < layout.layers(); layer++) {
            for (int i = 0; i < layout.layerBytes(); i++) {
                payload.setByte(layout.keyOffset(layer) + i, byteAt(tenant, key, layer, i));
            }
        }
    }

    /** Whether every byte is that of the block. */
    static boolean isFilled(ArrowBuf payload, BlockLayout layout, String tenant, BlockKey key) {
        for (int layer = 0; layer < layout.layers(); layer++) {
            for (int i = 0; i < layout.layerBytes(); i++) {
                if (payload.getByte(layout.keyOffset(layer) + i) != byteAt(tenant, key, layer, i)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Acquires, fills and publishes all full blocks of {@code tokens}; returns how many were published. */
    static int store(LocalKvPool pool, Tenant tenant, int[] tokens) {
        try (PrefixLease hit = pool.acquire(tenant, tokens);
                BlockWriter writer = pool.extend(tenant, hit, tokens)) {
            java.util.List<BlockKey> chain = pool.chain(tenant, tokens);
            while (writer.hasNext()) {
                BlockKey key = chain.get(writer.blockIndex());
                fill(writer.next(), pool.layout(), tenant.name(), key);
            }
            return writer.publish();
        }
    }
}
