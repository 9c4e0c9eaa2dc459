// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * All weights of one model as F32 tensors, fused where one product serves several outputs. Linear layers are kept outputs x inputs, as in
 * the file.
 *
 * <p>Rotary pairs: the file orders query and key rows for rotation of neighbours (2i, 2i+1). A rotation of halves (i, i + headSize/2) is
 * cheaper in tensor operations, so rows are reordered once here; queries and keys move alike, hence no product changes. The attention
 * scale 1/sqrt(headSize) is folded into the query rows.
 *
 * <p>Ownership: the tensors belong to the manager given to {@link #load}. Immutable afterwards.
 *
 * @param embedding vocabulary x hidden
 * @param layers one entry a layer
 * @param finalNorm hidden
 * @param output vocabulary x hidden; the embedding itself where the file has none
 */
record LlamaWeights(NDArray embedding, List<Layer> layers, NDArray finalNorm, NDArray output) {

    /** One layer; {@code queryKeyValue} is (heads + 2 kvHeads) * headSize x hidden, {@code gateUp} 2 * feedForward x hidden. */
    record Layer(
            NDArray attentionNorm,
            NDArray queryKeyValue,
            NDArray attentionOutput,
            NDArray feedForwardNorm,
            NDArray gateUp,
            NDArray down) {}

    static LlamaWeights load(WeightSource source, LlamaConfig config, NDManager manager) {
        NDArray embedding = tensor(source, manager, "token_embd.weight", config.vocabulary(), config.hidden());
        List<Layer> layers = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            layers.add(loadLayer(source, config, manager, "blk." + layer + "."));
        }
        NDArray finalNorm = tensor(source, manager, "output_norm.weight", config.hidden());
        NDArray output = source.contains("output.weight")
                ? tensor(source, manager, "output.weight", config.vocabulary(), config.hidden())
                : embedding;
        return new LlamaWeights(embedding, List.copyOf(layers), finalNorm, output);
    }

    private static Layer loadLayer(WeightSource source, LlamaConfig c, NDManager manager, String prefix) {
        int queries = c.heads() * c.headSize();
        int keys = c.kvHeads() * c.headSize();
        NDArray fused = manager.create(new Shape(queries + 2L * keys, c.hidden()), DataType.FLOAT32);
        FloatBuffer rows = floats(fused);
        double scale = 1 / Math.sqrt(c.headSize());
        readRotated(source, prefix + "attn_q.weight", c, c.heads(), (float) scale, part(rows, 0, queries, c.hidden()));
        readRotated(source, prefix + "attn_k.weight", c, c.kvHeads(), 1, part(rows, queries, keys, c.hidden()));
        source.read(prefix + "attn_v.weight", part(rows, queries + keys, keys, c.hidden()), keys, c.hidden());
        NDArray gateUp = manager.create(new Shape(2L * c.feedForward(), c.hidden()), DataType.FLOAT32);
        FloatBuffer both = floats(gateUp);
        source.read(
                prefix + "ffn_gate.weight", part(both, 0, c.feedForward(), c.hidden()), c.feedForward(), c.hidden());
        source.read(
                prefix + "ffn_up.weight",
                part(both, c.feedForward(), c.feedForward(), c.hidden()),
                c.feedForward(),
                c.hidden());
        return new Layer(
                tensor(source, manager, prefix + "attn_norm.weight", c.hidden()),
                fused,
                tensor(source, manager, prefix + "attn_output.weight", c.hidden(), queries),
                tensor(source, manager, prefix + "ffn_norm.weight", c.hidden()),
                gateUp,
                tensor(source, manager, prefix + "ffn_down.weight", c.hidden(), c.feedForward()));
    }

    /** Reads {@code heads} heads whose rows are ordered for neighbouring pairs and stores them ordered for halves. */
    private static void readRotated(
            WeightSource source, String name, LlamaConfig config, int heads, float scale, FloatBuffer destination) {
        int hidden = config.hidden();
        FloatBuffer file = ByteBuffer.allocateDirect(4 * heads * config.headSize() * hidden)
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
        source.read(name, file.duplicate(), (long) heads * config.headSize(), hidden);
        float[] row = new float[hidden];
        for (int head = 0; head < heads; head++) {
            for (int element = 0; element < config.headSize(); element++) {
                file.get((head * config.headSize() + fileRow(element, config.headSize())) * hidden, row);
                for (int i = 0; scale != 1 && i < hidden; i++) {
                    row[i] *= scale;
                }
                destination.put(row);
            }
        }
    }

    /** The file's row, within a head, of the element at {@code index}: pair i of the file is (2i, 2i+1), ours is (i, i + size/2). */
    static int fileRow(int index, int headSize) {
        int half = headSize / 2;
        return index < half ? 2 * index : 2 * (index - half) + 1;
    }

    private static NDArray tensor(WeightSource source, NDManager manager, String name, long... shape) {
        NDArray array = manager.create(new Shape(shape), DataType.FLOAT32);
        source.read(name, floats(array), shape);
        return array;
    }

    /** A writable view of a tensor we have just made, which is contiguous. */
    static FloatBuffer floats(NDArray array) {
        return ((PtNDArray) array).toByteBuffer(true).asFloatBuffer();
    }

    private static FloatBuffer part(FloatBuffer rows, int firstRow, int rowCount, int width) {
        return rows.slice(firstRow * width, rowCount * width);
    }
}
