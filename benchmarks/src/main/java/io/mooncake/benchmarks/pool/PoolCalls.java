// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

import io.mooncake.examples.cli.Refusal;
import io.mooncake.ignite.BlockPut;
import io.mooncake.ignite.BlockResult;
import io.mooncake.ignite.BlockSet;
import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.PutOptions;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.RemovalCause;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.ignite.Ignite;

/** The product itself: blocks of the pool whose blocks have that size, on this node or another. */
final class PoolCalls implements Calls {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final PutOptions ELSEWHERE = new PutOptions(2, PATIENCE);

    private final Ignite ignite;
    private final KvBlocks blocks;
    private final LocalKvPool local;
    private final boolean remote;
    private final ByteBuffer payload;
    private final List<BlockPut> puts = new ArrayList<>();
    private final List<BlockKey> keys = new ArrayList<>();

    /** @param remote whether values are to be on the other node */
    PoolCalls(Ignite ignite, int size, boolean remote) {
        this.ignite = ignite;
        this.remote = remote;
        String pool = PoolNodeMain.pool(size);
        this.blocks = Mooncake.of(ignite).blocks(pool);
        this.local = ((ClusterKvPool) Mooncake.of(ignite).pool(pool)).local();
        this.payload = ByteBuffer.allocateDirect(local.layout().payloadBytes());
    }

    /** The puts of values that depend on {@code seed} alone: each the first block of a prompt of its own. */
    static List<BlockPut> puts(KvBlocks blocks, ByteBuffer payload, long seed, int count) {
        Random random = new Random(seed);
        List<BlockPut> puts = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int[] tokens = random.ints(PoolNodeMain.BLOCK_TOKENS, 0, 1 << 30).toArray();
            puts.add(new BlockPut(blocks.root(), 0, tokens, payload));
        }
        return puts;
    }

    @Override
    public void begin(int count) {
        prepare(System.nanoTime(), count);
    }

    private void prepare(long seed, int count) {
        puts.clear();
        keys.clear();
        puts.addAll(puts(blocks, payload, seed, count));
        puts.forEach(put -> keys.add(blocks.key(put.parent(), put.tokens())));
    }

    @Override
    public void put(int first, int batch) {
        List<BlockResult> results =
                blocks.put(puts.subList(first, first + batch), remote ? ELSEWHERE : PutOptions.LOCAL);
        for (BlockResult result : results) {
            if (result.status() != BlockResult.Status.STORED || (remote && result.copies() != 2)) {
                throw new Refusal("put: " + result + " (expected: STORED)");
            }
        }
    }

    @Override
    public void fill() throws Exception {
        if (!remote) {
            put(0, puts.size());
            return;
        }
        long seed = System.nanoTime();
        int count = puts.size();
        prepare(seed, count);
        ignite.compute(ignite.cluster().forAttribute(PoolNodeMain.ROLE, "owner"))
                .run(new PoolNodeMain.Fill(local.layout().payloadBytes(), seed, count));
        long until = System.nanoTime() + PATIENCE.toNanos();
        while (blocks.exists(keys).stream().anyMatch(result -> result.copies() != 1)) {
            if (System.nanoTime() > until) {
                throw new Refusal("the other node's blocks are not known within " + PATIENCE);
            }
            Thread.sleep(1);
        }
    }

    @Override
    public void get(int first, int batch) {
        try (BlockSet taken = blocks.get(keys.subList(first, first + batch), PATIENCE)) {
            for (BlockResult result : taken.results()) {
                if (result.status() != BlockResult.Status.FOUND) {
                    throw new Refusal("get: " + result + " (expected: FOUND)");
                }
            }
        }
    }

    @Override
    public void exists(int first, int batch) {
        for (BlockResult result : blocks.exists(keys.subList(first, first + batch))) {
            if (result.status() != BlockResult.Status.FOUND) {
                throw new Refusal("exists: " + result + " (expected: FOUND)");
            }
        }
    }

    @Override
    public void clear() throws Exception {
        // What was taken here may not be known as a copy there yet: each node for itself.
        keys.forEach(key -> local.remove(key, RemovalCause.REMOVED));
        if (remote) {
            ignite.compute(ignite.cluster().forAttribute(PoolNodeMain.ROLE, "owner"))
                    .run(new PoolNodeMain.Clear(local.layout().payloadBytes()));
        }
        keys.clear();
        puts.clear();
    }
}
