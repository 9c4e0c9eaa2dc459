// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.djl.llama.LlamaConfig;
import io.mooncake.djl.llama.LlamaGguf;
import io.mooncake.djl.llama.LlamaIdentity;
import io.mooncake.djl.llama.LlamaModel;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MemoryRegion;
import io.mooncake.memory.ReuseMode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/** A tiny seeded model with a pool of this process. */
public final class TestModel implements AutoCloseable {
    /** Replays a run: -Dmooncake.seed=N. */
    public static final long SEED = Long.getLong("mooncake.seed", System.nanoTime() & 0xffff);

    /** Whether the counts of long runs are asked for. */
    public static final boolean LONG = Boolean.getBoolean("mooncake.long");

    public final Path file;
    public final LlamaModel model;
    public final KvIdentity identity;
    private final MemoryRegion region;
    public final LocalKvPool pool;

    private TestModel(Path file, TinyLlama.Shape shape, ReuseMode mode, int blockTokens, int poolBlocks) {
        this.file = file;
        try {
            TinyLlama.write(file, 7, shape);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try (GgufFile gguf = GgufFile.open(file)) {
            LlamaGguf source = new LlamaGguf(gguf);
            LlamaConfig config = source.config();
            model = LlamaModel.load(source, config, blockTokens);
            identity = LlamaIdentity.of(config, gguf.sha256(), "0".repeat(64), mode, blockTokens);
        }
        long bytes = LocalKvPool.blockStrideBytes(identity) * poolBlocks;
        region = MemoryRegion.allocate(bytes);
        pool = LocalKvPool.create("tiny", identity, model.config().vocabulary(), region, 0, bytes);
    }

    public static TestModel exact() {
        return create(TinyLlama.Shape.standard(), ReuseMode.EXACT, 64);
    }

    public static TestModel create(TinyLlama.Shape shape, ReuseMode mode, int blockTokens) {
        return create(shape, mode, blockTokens, 256);
    }

    public static TestModel create(TinyLlama.Shape shape, ReuseMode mode, int blockTokens, int poolBlocks) {
        try {
            Path folder = Files.createTempDirectory("tiny-llama");
            return new TestModel(folder.resolve("tiny.gguf"), shape, mode, blockTokens, poolBlocks);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Seeded token ids below the vocabulary. */
    public int[] prompt(Random random, int tokens) {
        return random.ints(tokens, 0, model.config().vocabulary()).toArray();
    }

    @Override
    public void close() {
        pool.close();
        region.close();
        model.close();
        try {
            Files.deleteIfExists(file);
            Files.deleteIfExists(file.getParent());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
