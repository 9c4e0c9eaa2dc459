// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import io.mooncake.base.MooncakeException;

/**
 * The shape of a Llama-family decoder: RMSNorm before attention and feed-forward, rotary positions, grouped queries, gated SiLU, no
 * biases.
 *
 * @param layers attention layers, 1..1024
 * @param hidden width of the residual stream
 * @param heads query heads a layer, a multiple of {@code kvHeads}
 * @param kvHeads key and value heads a layer
 * @param headSize elements a head, even
 * @param feedForward width of the gated layer
 * @param vocabulary token ids are 0..vocabulary-1
 * @param contextTokens longest sequence served
 * @param ropeDims elements of a head that are rotated, even, at most {@code headSize}
 * @param ropeBase base of the rotation's wave lengths
 * @param ropeScale positions are divided by it; 1 where the model has no linear scaling
 * @param rmsEpsilon added to the mean square
 */
public record LlamaConfig(
        int layers,
        int hidden,
        int heads,
        int kvHeads,
        int headSize,
        int feedForward,
        int vocabulary,
        int contextTokens,
        int ropeDims,
        float ropeBase,
        float ropeScale,
        float rmsEpsilon) {

    public LlamaConfig {
        requireRange("layers", layers, 1, 1024);
        requireRange("hidden", hidden, 1, 1 << 16);
        requireRange("heads", heads, 1, 1024);
        requireRange("kvHeads", kvHeads, 1, heads);
        requireRange("headSize", headSize, 2, 4096);
        requireRange("feedForward", feedForward, 1, 1 << 20);
        requireRange("vocabulary", vocabulary, 1, 1 << 22);
        requireRange("contextTokens", contextTokens, 1, 1 << 24);
        requireRange("ropeDims", ropeDims, 2, headSize);
        require(heads % kvHeads == 0, "heads", heads, "a multiple of kvHeads = " + kvHeads);
        require(headSize % 2 == 0, "headSize", headSize, "an even number");
        require(ropeDims % 2 == 0, "ropeDims", ropeDims, "an even number");
        require(ropeBase >= 1 && Float.isFinite(ropeBase), "ropeBase", ropeBase, "a finite number of at least 1");
        require(ropeScale > 0 && Float.isFinite(ropeScale), "ropeScale", ropeScale, "a finite number above 0");
        require(rmsEpsilon >= 0 && rmsEpsilon < 1, "rmsEpsilon", rmsEpsilon, "0 or more, less than 1");
    }

    /** Query heads that share one key head. */
    public int groups() {
        return heads / kvHeads;
    }

    /** Query, key and value heads of one layer together. */
    int allHeads() {
        return heads + 2 * kvHeads;
    }

    /** The same model for sequences of at most {@code tokens}. */
    public LlamaConfig withContext(int tokens) {
        return new LlamaConfig(
                layers,
                hidden,
                heads,
                kvHeads,
                headSize,
                feedForward,
                vocabulary,
                tokens,
                ropeDims,
                ropeBase,
                ropeScale,
                rmsEpsilon);
    }

    /** Elements of all weights: embedding, layers, norms, and an output matrix of its own where {@code tied} is false. */
    public long parameters(boolean tied) {
        long embedding = (long) vocabulary * hidden;
        long attention = (long) hidden * allHeads() * headSize + (long) heads * headSize * hidden;
        long layer = attention + 3L * hidden * feedForward + 2L * hidden;
        return embedding * (tied ? 1 : 2) + layers * layer + hidden;
    }

    private static void requireRange(String name, int value, int min, int max) {
        require(value >= min && value <= max, name, value, min + ".." + max);
    }

    private static void require(boolean holds, String name, Object value, String expected) {
        if (!holds) {
            throw new MooncakeException(
                    MooncakeException.Code.MODEL_REFUSED, name + ": " + value + " (expected: " + expected + ")");
        }
    }
}
