// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * All weights of one model as F32 tensors, fused where one product serves several outputs. Linear layers are kept inputs x outputs, the
 * file's order turned round: a product with one row (a decode step) then runs at the speed of memory, up to four times faster.
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
 * @param output hidden x vocabulary; a turned copy of the embedding where the file has none
 */
record LlamaWeights(NDArray embedding, List<Layer> layers, NDArray finalNorm, NDArray output) {

    /** One layer; {@code queryKeyValue} is hidden x (heads + 2 kvHeads) * headSize, {@code gateUp} hidden x 2 * feedForward. */
    record Layer(
            NDArray attentionNorm,
            NDArray queryKeyValue,
            NDArray attentionOutput,
            NDArray feedForwardNorm,
            NDArray gateUp,
            NDArray down) {}

    /** Keeps the tensors alive beyond a scope that the caller happens to have open. */
    void leaveScope() {
        NDScope.unregister(embedding, finalNorm, output);
        for (Layer layer : layers) {
            NDScope.unregister(layer.attentionNorm, layer.queryKeyValue, layer.attentionOutput);
            NDScope.unregister(layer.feedForwardNorm, layer.gateUp, layer.down);
        }
    }

    static LlamaWeights load(WeightSource source, LlamaConfig config, NDManager manager) {
        NDArray embedding = tensor(source, manager, "token_embd.weight", config.vocabulary(), config.hidden());
        List<Layer> layers = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            layers.add(loadLayer(source, config, manager, "blk." + layer + "."));
        }
        NDArray finalNorm = tensor(source, manager, "output_norm.weight", config.hidden());
        NDArray output = source.contains("output.weight")
                ? turned(source, manager, "output.weight", config.vocabulary(), config.hidden())
                : turn(embedding, manager);
        return new LlamaWeights(embedding, List.copyOf(layers), finalNorm, output);
    }

    private static Layer loadLayer(WeightSource source, LlamaConfig c, NDManager manager, String prefix) {
        int queries = c.heads() * c.headSize();
        return new Layer(
                tensor(source, manager, prefix + "attn_norm.weight", c.hidden()),
                queryKeyValue(source, c, manager, prefix),
                turned(source, manager, prefix + "attn_output.weight", c.hidden(), queries),
                tensor(source, manager, prefix + "ffn_norm.weight", c.hidden()),
                gateUp(source, c, manager, prefix),
                turned(source, manager, prefix + "ffn_down.weight", c.hidden(), c.feedForward()));
    }

    private static NDArray queryKeyValue(WeightSource source, LlamaConfig c, NDManager manager, String prefix) {
        int queries = c.heads() * c.headSize();
        int keys = c.kvHeads() * c.headSize();
        int width = c.hidden();
        try (NDArray fused = manager.create(new Shape(queries + 2L * keys, width), DataType.FLOAT32)) {
            FloatBuffer rows = floats(fused);
            float scale = (float) (1 / Math.sqrt(c.headSize()));
            readRotated(source, prefix + "attn_q.weight", c, c.heads(), scale, part(rows, 0, queries, width));
            readRotated(source, prefix + "attn_k.weight", c, c.kvHeads(), 1, part(rows, queries, keys, width));
            source.read(prefix + "attn_v.weight", part(rows, queries + keys, keys, width), keys, width);
            return turn(fused, manager);
        }
    }

    private static NDArray gateUp(WeightSource source, LlamaConfig c, NDManager manager, String prefix) {
        int half = c.feedForward();
        int width = c.hidden();
        try (NDArray both = manager.create(new Shape(2L * half, width), DataType.FLOAT32)) {
            FloatBuffer rows = floats(both);
            source.read(prefix + "ffn_gate.weight", part(rows, 0, half, width), half, width);
            source.read(prefix + "ffn_up.weight", part(rows, half, half, width), half, width);
            return turn(both, manager);
        }
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

    private static NDArray turned(WeightSource source, NDManager manager, String name, long... shape) {
        try (NDArray rows = tensor(source, manager, name, shape)) {
            return turn(rows, manager);
        }
    }

    /** A contiguous copy of {@code matrix} with rows and columns swapped. */
    private static NDArray turn(NDArray matrix, NDManager manager) {
        Shape shape = matrix.getShape();
        NDArray result = manager.create(new Shape(shape.get(1), shape.get(0)), DataType.FLOAT32);
        try (NDArray view = matrix.transpose(1, 0)) {
            result.set(new NDIndex(":"), view);
        }
        return result;
    }

    /** A writable view of a tensor we have just made, which is contiguous. */
    static FloatBuffer floats(NDArray array) {
        return ((PtNDArray) array).toByteBuffer(true).asFloatBuffer();
    }

    private static FloatBuffer part(FloatBuffer rows, int firstRow, int rowCount, int width) {
        return rows.slice(firstRow * width, rowCount * width);
    }
}
