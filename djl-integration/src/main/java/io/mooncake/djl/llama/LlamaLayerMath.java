// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.jni.JniUtils;
import java.nio.FloatBuffer;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * One layer's arithmetic in tensor operations. T new tokens at positions p..p+T-1 see S = p+T tokens.
 *
 * <p>Bits depend on shapes and on the thread count only: the same T, the same p and the same keys give the same bits, whoever computed the
 * keys of earlier chunks and whatever the state's capacity is.
 *
 * <p>Threading: immutable; each call works on its own tensors and on the state it is given.
 */
final class LlamaLayerMath {
    private final LlamaConfig config;
    private final NDArray cosines;
    private final NDArray sines;
    private final NDArray laterTokens;
    private final NDArray epsilon;

    /** @param frequencyFactors headSize/2 divisors of the rotation's frequencies, or empty */
    LlamaLayerMath(LlamaConfig config, float[] frequencyFactors, int chunkTokens, NDManager manager) {
        this.config = config;
        Shape table = new Shape(config.contextTokens(), 1, config.headSize());
        this.cosines = manager.create(table, DataType.FLOAT32);
        this.sines = manager.create(table, DataType.FLOAT32);
        fillTables(LlamaWeights.floats(cosines), LlamaWeights.floats(sines), frequencyFactors);
        this.laterTokens = manager.create(new Shape(chunkTokens, chunkTokens), DataType.FLOAT32);
        FloatBuffer mask = LlamaWeights.floats(laterTokens);
        for (int query = 0; query < chunkTokens; query++) {
            for (int key = 0; key < chunkTokens; key++) {
                mask.put(key > query ? Float.NEGATIVE_INFINITY : 0);
            }
        }
        this.epsilon = manager.create(config.rmsEpsilon());
        // A scope that the caller happens to have open must not free them.
        NDScope.unregister(cosines, sines, laterTokens, epsilon);
    }

    /** Signs are folded in: out = x * cos + swapped(x) * sin with swapped(x) = (second half, first half). */
    private void fillTables(FloatBuffer cos, FloatBuffer sin, float[] frequencyFactors) {
        int half = config.headSize() / 2;
        double[] frequencies = new double[half];
        for (int pair = 0; pair < half; pair++) {
            boolean rotated = 2 * pair < config.ropeDims();
            double factor =
                    frequencyFactors.length == 0 ? 1 : frequencyFactors[Math.min(pair, frequencyFactors.length - 1)];
            frequencies[pair] = rotated ? Math.pow(config.ropeBase(), -2.0 * pair / config.ropeDims()) / factor : 0;
        }
        for (int position = 0; position < config.contextTokens(); position++) {
            for (int element = 0; element < config.headSize(); element++) {
                double angle = position / (double) config.ropeScale() * frequencies[element % half];
                cos.put((float) Math.cos(angle));
                sin.put((float) (element < half ? -Math.sin(angle) : Math.sin(angle)));
            }
        }
    }

    /**
     * Runs one layer over {@code x} [T, hidden] at positions {@code position} and on; stores its keys and values in {@code state}.
     *
     * @return [T, hidden], registered with no scope; {@code x} may be written to
     */
    NDArray forward(NDArray x, LlamaWeights.Layer weights, LlamaState state, int layer, int position) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            NDArray attended = attention(normalise(x, weights.attentionNorm()), weights, state, layer, position);
            NDArray middle = linear(attended, weights.attentionOutput()).addi(x);
            NDArray hidden = normalise(middle, weights.feedForwardNorm());
            NDList gateUp = linear(hidden, weights.gateUp()).split(new long[] {config.feedForward()}, 1);
            NDArray gate = gateUp.get(0);
            NDArray gated = JniUtils.sigmoid((PtNDArray) gate).muli(gate).muli(gateUp.get(1));
            NDArray out = linear(gated, weights.down()).addi(middle);
            NDScope.unregister(out);
            return out;
        }
    }

    private NDArray attention(NDArray x, LlamaWeights.Layer weights, LlamaState state, int layer, int position) {
        int tokens = (int) x.getShape().get(0);
        int seen = position + tokens;
        int size = config.headSize();
        int kvHeads = config.kvHeads();
        NDArray fused = linear(x, weights.queryKeyValue());
        NDArray heads = fused.reshape(tokens, config.allHeads(), size);
        NDArray rotated = rotate(narrow(heads, 1, 0, config.heads() + kvHeads), position);
        append(state, layer, rotated, fused, position, tokens);

        NDArray keys = narrow(state.keys(layer), 1, 0, seen);
        NDArray values = narrow(state.values(layer), 1, 0, seen);
        // Queries of one key head side by side, so that grouped heads need no repeated keys.
        NDArray queries = narrow(rotated, 1, 0, config.heads())
                .reshape(tokens, kvHeads, config.groups(), size)
                .transpose(1, 2, 0, 3)
                .reshape(kvHeads, (long) config.groups() * tokens, size);
        NDArray scores = queries.batchMatMul(keys.transpose(0, 2, 1));
        if (tokens > 1) {
            NDArray ownChunk = narrow(scores.reshape(config.heads(), tokens, seen), 2, position, seen);
            ownChunk.addi(narrow(narrow(laterTokens, 0, 0, tokens), 1, 0, tokens));
        }
        return scores.softmax(-1)
                .batchMatMul(values)
                .reshape(kvHeads, config.groups(), tokens, size)
                .transpose(2, 0, 1, 3)
                .reshape(tokens, (long) config.heads() * size);
    }

    /** Puts the new keys and values where the state wants them; both sources are contiguous. */
    private void append(LlamaState state, int layer, NDArray rotated, NDArray fused, int position, int tokens) {
        long head = 4L * config.headSize();
        long keys = address(rotated) + config.heads() * head;
        long values = address(fused) + (config.heads() + config.kvHeads()) * head;
        long keyStride = (config.heads() + config.kvHeads()) * head;
        state.tensors().append(layer, keys, keyStride, values, config.allHeads() * head, position, tokens);
    }

    private NDArray rotate(NDArray x, int position) {
        long tokens = x.getShape().get(0);
        NDList halves = x.split(new long[] {config.headSize() / 2}, 2);
        NDArray swapped = halves.get(1).concat(halves.get(0), 2);
        NDArray turned = swapped.muli(narrow(sines, 0, position, position + tokens));
        return x.mul(narrow(cosines, 0, position, position + tokens)).addi(turned);
    }

    /** x / sqrt(mean(x^2) + epsilon) * gain. */
    NDArray normalise(NDArray x, NDArray gain) {
        NDArray rootMeanSquare =
                x.square().mean(new int[] {-1}, true).addi(epsilon).sqrt();
        return x.div(rootMeanSquare).muli(gain);
    }

    static NDArray linear(NDArray x, NDArray weight) {
        return x.matMul(weight);
    }

    /** A view of rows [from, to) along {@code axis}. */
    static NDArray narrow(NDArray x, int axis, long from, long to) {
        return JniUtils.slice((PtNDArray) x, axis, from, to, 1);
    }

    private static long address(NDArray contiguous) {
        return MemoryUtil.getByteBufferAddress(((PtNDArray) contiguous).toByteBuffer(true));
    }
}
