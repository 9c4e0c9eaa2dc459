// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import ai.djl.inference.Predictor;
import ai.djl.modality.nlp.generate.CausalLMOutput;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.SparseFormat;
import io.mooncake.base.MooncakeException;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A Llama-family decoder on DJL's PyTorch engine, CPU, F32.
 *
 * <p>Prefill runs in chunks of {@link #chunkTokens()} that end at multiples of it by absolute position, so that a sequence is cut alike
 * wherever its prefix came from and logits are bit-identical with and without reuse, on one machine with one thread count.
 *
 * <p>Ownership: owed a close, which frees the weights and every state. Threading: safe for all threads, one thread a state; {@link #close}
 * waits for passes that are under way, and calls that come later throw ILLEGAL_STATE.
 */
public final class LlamaModel implements AutoCloseable {
    private final LlamaConfig config;
    private final int chunkTokens;
    private final NDManager manager;
    private final LlamaWeights weights;
    private final LlamaLayerMath math;
    // Passes hold it shared, whoever frees native memory holds it alone: a tensor must not vanish under a running
    // product.
    private final ReadWriteLock life = new ReentrantReadWriteLock();
    private boolean closed;

    private LlamaModel(
            LlamaConfig config, int chunkTokens, NDManager manager, LlamaWeights weights, LlamaLayerMath math) {
        this.config = config;
        this.chunkTokens = chunkTokens;
        this.manager = manager;
        this.weights = weights;
        this.math = math;
    }

    /**
     * Reads all weights into memory.
     *
     * @param chunkTokens tokens a prefill chunk, 1..4096; the block size of its pool in exact mode
     * @throws MooncakeException MODEL_REFUSED when a tensor is missing or has another shape
     */
    public static LlamaModel load(WeightSource source, LlamaConfig config, int chunkTokens) {
        if (chunkTokens < 1 || chunkTokens > 4096) {
            throw MooncakeException.invalid("chunkTokens", chunkTokens, "1..4096");
        }
        NDManager manager = TorchEngine.get().newBaseManager();
        try {
            LlamaWeights weights = LlamaWeights.load(source, config, manager);
            weights.leaveScope();
            float[] factors = ropeFactors(source, config);
            return new LlamaModel(
                    config, chunkTokens, manager, weights, new LlamaLayerMath(config, factors, chunkTokens, manager));
        } catch (RuntimeException e) {
            manager.close();
            throw e;
        }
    }

    /** Static divisors of the rotation's frequencies, as Llama 3 has them; empty for others. */
    private static float[] ropeFactors(WeightSource source, LlamaConfig config) {
        if (!source.contains("rope_freqs.weight")) {
            return new float[0];
        }
        float[] factors = new float[config.ropeDims() / 2];
        source.read("rope_freqs.weight", FloatBuffer.wrap(factors), factors.length);
        return factors;
    }

    /** Its shape. */
    public LlamaConfig config() {
        return config;
    }

    /** Tokens a prefill chunk. */
    public int chunkTokens() {
        return chunkTokens;
    }

    /**
     * An empty sequence of at most {@code capacity} tokens, 2 x layers x kvHeads x headSize x 4 bytes a token.
     *
     * @throws MooncakeException INVALID_ARGUMENT outside of 1..contextTokens (rounded up to whole chunks)
     */
    public LlamaState newState(int capacity) {
        int most = roundUp(config.contextTokens());
        if (capacity < 1 || capacity > most) {
            throw MooncakeException.invalid("state capacity", capacity, "1.." + most);
        }
        return sharing(() -> new LlamaState(this, manager, capacity));
    }

    private int roundUp(int tokens) {
        return (tokens + chunkTokens - 1) / chunkTokens * chunkTokens;
    }

    /** Feeds {@code tokens[state.position()..to)} chunk by chunk without looking at the answer. */
    public void feed(LlamaState state, int[] tokens, int to) {
        requireRange(state, tokens, to, false);
        while (state.position() < to) {
            run(state, chunk(state, tokens, to), Want.NOTHING);
        }
    }

    /**
     * Feeds {@code tokens[state.position()..to)} chunk by chunk.
     *
     * @return the logits that follow the last of them, vocabulary long
     */
    public float[] predict(LlamaState state, int[] tokens, int to) {
        requireRange(state, tokens, to, true);
        feed(state, tokens, Math.max(state.position(), chunkStart(to)));
        return floats(state, chunk(state, tokens, to), Want.LAST);
    }

    /**
     * Feeds one token, whatever chunk it falls into.
     *
     * @return the logits that follow it, vocabulary long
     */
    public float[] step(LlamaState state, int token) {
        int position = state.position();
        if (position >= state.capacity()) {
            throw MooncakeException.invalid("position", position, "less than " + state.capacity());
        }
        requireMine(state);
        requireToken(position, token);
        return floats(state, new int[] {token}, Want.LAST);
    }

    /** The logits after each of {@code tokens}, tokens x vocabulary, from an empty state. */
    public float[][] logits(int[] tokens) {
        float[][] rows = new float[tokens.length][];
        try (LlamaState state = newState(tokens.length)) {
            requireRange(state, tokens, tokens.length, true);
            while (state.position() < tokens.length) {
                int first = state.position();
                float[] flat = floats(state, chunk(state, tokens, tokens.length), Want.ALL);
                for (int row = 0; first + row < state.position(); row++) {
                    int from = row * config.vocabulary();
                    rows[first + row] = Arrays.copyOfRange(flat, from, from + config.vocabulary());
                }
            }
        }
        return rows;
    }

    /**
     * Natural logarithm of the probability that the model gave to each next token: entry i is that of {@code tokens[i + 1]} after {@code
     * tokens[0..i]}.
     *
     * @return one entry fewer than tokens
     */
    public double[] logProbabilities(int[] tokens) {
        double[] result = new double[Math.max(0, tokens.length - 1)];
        try (LlamaState state = newState(Math.max(1, tokens.length))) {
            requireRange(state, tokens, tokens.length, false);
            while (state.position() < result.length) {
                int first = state.position();
                float[] flat = floats(state, chunk(state, tokens, result.length), Want.ALL);
                for (int row = 0; first + row < state.position(); row++) {
                    result[first + row] = logSoftmax(flat, row * config.vocabulary(), tokens[first + row + 1]);
                }
            }
        }
        return result;
    }

    private double logSoftmax(float[] flat, int from, int token) {
        float max = Float.NEGATIVE_INFINITY;
        for (int i = 0; i < config.vocabulary(); i++) {
            max = Math.max(max, flat[from + i]);
        }
        double sum = 0;
        for (int i = 0; i < config.vocabulary(); i++) {
            sum += Math.exp(flat[from + i] - max);
        }
        return flat[from + token] - max - Math.log(sum);
    }

    /** The tokens from the state's position to the next chunk border, or to {@code to} if that is nearer. */
    private int[] chunk(LlamaState state, int[] tokens, int to) {
        int from = state.position();
        return Arrays.copyOfRange(tokens, from, Math.min(to, (from / chunkTokens + 1) * chunkTokens));
    }

    /** Where the chunk that ends at {@code to} starts. */
    private int chunkStart(int to) {
        return (to - 1) / chunkTokens * chunkTokens;
    }

    /** Which rows of logits a pass makes. */
    enum Want {
        NOTHING,
        LAST,
        ALL
    }

    /**
     * A DJL predictor over this model. Input: ids [1, T], positions [1, T], attention mask [1, P + T] of ones, then nothing or 2 x layers
     * past arrays [1, kvHeads, P, headSize]. Output: logits of the last token [1, 1, vocabulary], and the past of P + T tokens. Outputs
     * belong to the manager of the ids.
     */
    public Predictor<NDList, CausalLMOutput> newPredictor() {
        return new LlamaPredictor(this, Want.LAST);
    }

    /** The same, with the logits of all T tokens [1, T, vocabulary]. */
    public Predictor<NDList, CausalLMOutput> newPredictorOfAllLogits() {
        return new LlamaPredictor(this, Want.ALL);
    }

    /** Feeds {@code tokens[state.position()..to)} chunk by chunk; returns [rows, vocabulary] a chunk (ALL) or of the last token. */
    List<NDArray> rows(LlamaState state, int[] tokens, int to, Want want) {
        requireRange(state, tokens, to, true);
        List<NDArray> rows = new ArrayList<>();
        while (state.position() < to) {
            int[] chunk = chunk(state, tokens, to);
            boolean last = state.position() + chunk.length == to;
            NDArray logits = run(state, chunk, want == Want.LAST && !last ? Want.NOTHING : want);
            if (logits != null) {
                rows.add(logits);
            }
        }
        return rows;
    }

    /** One pass over {@code chunk}, at most one chunk. Returns [1 or T, vocabulary], owed a close, or null. */
    private @Nullable NDArray run(LlamaState state, int[] chunk, Want want) {
        return sharing(() -> {
            state.requireOpen();
            int position = state.position();
            NDArray logits = pass(state, chunk, position, want);
            state.moveTo(position + chunk.length);
            return logits;
        });
    }

    private @Nullable NDArray pass(LlamaState state, int[] tokens, int position, Want want) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            NDArray ids = state.manager().create(tokens);
            NDArray x = ids.getNDArrayInternal()
                    .embedding(ids, weights.embedding(), SparseFormat.DENSE)
                    .singletonOrThrow();
            for (int layer = 0; layer < config.layers(); layer++) {
                NDArray next = math.forward(x, weights.layers().get(layer), state, layer, position);
                x.close();
                x = next;
                NDScope.register(x);
            }
            if (want == Want.NOTHING) {
                return null;
            }
            NDArray rows = want == Want.ALL ? x : LlamaLayerMath.narrow(x, 0, tokens.length - 1, tokens.length);
            NDArray logits = LlamaLayerMath.linear(math.normalise(rows, weights.finalNorm()), weights.output());
            NDScope.unregister(logits);
            return logits;
        }
    }

    /** The same pass with its logits on the heap, read before anybody can free them. */
    private float[] floats(LlamaState state, int[] chunk, Want want) {
        return sharing(() -> {
            try (NDArray logits = run(state, chunk, want)) {
                if (logits == null) {
                    throw new MooncakeException(
                            MooncakeException.Code.INTERNAL, "logits: none (expected: one row or more)");
                }
                return logits.toFloatArray();
            }
        });
    }

    private void requireRange(LlamaState state, int[] tokens, int to, boolean atLeastOne) {
        requireMine(state);
        int from = state.position();
        if (to < from + (atLeastOne ? 1 : 0) || to > tokens.length || to > state.capacity()) {
            throw MooncakeException.invalid(
                    "tokens",
                    from + ".." + to,
                    "within the " + tokens.length + " given and the capacity of " + state.capacity());
        }
        for (int i = from; i < to; i++) {
            requireToken(i, tokens[i]);
        }
    }

    private void requireMine(LlamaState state) {
        if (state.model() != this) {
            throw MooncakeException.invalid("state", "of another model", "a state of this model");
        }
    }

    private void requireToken(int position, int token) {
        if (token < 0 || token >= config.vocabulary()) {
            throw MooncakeException.invalid("token at position " + position, token, "0.." + (config.vocabulary() - 1));
        }
    }

    /** Runs {@code work} while nobody can free tensors; ILLEGAL_STATE after close. */
    <T extends @Nullable Object> T sharing(Supplier<T> work) {
        Lock lock = life.readLock();
        lock.lock();
        try {
            if (closed) {
                throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "model: closed (expected: open)");
            }
            return work.get();
        } finally {
            lock.unlock();
        }
    }

    /** Runs {@code work} while no pass is under way. */
    void exclusively(Runnable work) {
        Lock lock = life.writeLock();
        lock.lock();
        try {
            work.run();
        } finally {
            lock.unlock();
        }
    }

    /** Frees weights and states. Idempotent. */
    @Override
    public void close() {
        exclusively(() -> {
            if (!closed) {
                closed = true;
                manager.close();
            }
        });
    }
}
