// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockLayout;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Keys and values of one sequence in CPU memory, by address: for each layer two F32 tensors [kvHeads, capacity, headSize] (or with a
 * leading batch of 1), contiguous. Copies runs of tokens from and to cache blocks, one memory copy a head.
 *
 * <pre>
 *   block:  layer { keys { head { token { element } } } values { ... } }       head = blockTokens x headSize
 *   tensor: keys of a layer   { head { token { element } } }                    head = capacity x headSize
 * </pre>
 *
 * <p>Ownership: borrows the tensors; whoever made this keeps them alive for as long as it is used. Threading: one thread at a time.
 */
public final class KvTensors {
    private static final int ELEMENT_BYTES = 4;

    private final long[] keyAddresses;
    private final long[] valueAddresses;
    private final int kvHeads;
    private final int capacity;
    private final int headSize;

    private KvTensors(long[] keyAddresses, long[] valueAddresses, int kvHeads, int capacity, int headSize) {
        this.keyAddresses = keyAddresses;
        this.valueAddresses = valueAddresses;
        this.kvHeads = kvHeads;
        this.capacity = capacity;
        this.headSize = headSize;
    }

    /**
     * Over one key and one value tensor a layer, all of one shape.
     *
     * @throws MooncakeException INVALID_ARGUMENT naming layer and tensor when a type, a shape or the memory order does not fit
     */
    public static KvTensors over(NDArray[] keys, NDArray[] values) {
        if (keys.length == 0 || keys.length != values.length) {
            throw MooncakeException.invalid(
                    "KV tensors", keys.length + " keys, " + values.length + " values", "as many");
        }
        Shape shape = keys[0].getShape();
        long[] keyAddresses = new long[keys.length];
        long[] valueAddresses = new long[keys.length];
        for (int layer = 0; layer < keys.length; layer++) {
            keyAddresses[layer] = address("keys of layer " + layer, keys[layer], shape);
            valueAddresses[layer] = address("values of layer " + layer, values[layer], shape);
        }
        int last = shape.dimension() - 1;
        return new KvTensors(
                keyAddresses,
                valueAddresses,
                Math.toIntExact(shape.get(last - 2)),
                Math.toIntExact(shape.get(last - 1)),
                Math.toIntExact(shape.get(last)));
    }

    /**
     * Over past arrays as DJL's causal models have them: keys and values of layer 0, of layer 1, and so on, each [1, kvHeads, tokens,
     * headSize].
     *
     * @throws MooncakeException INVALID_ARGUMENT naming the array that does not fit
     */
    public static KvTensors over(NDList past, int layers, int kvHeads, int headSize) {
        if (past.size() != 2 * layers) {
            throw MooncakeException.invalid(
                    "past", past.size() + " arrays", 2 * layers + ": keys and values of each layer");
        }
        Shape found = past.get(0).getShape();
        if (found.dimension() != 4 || found.get(0) != 1 || found.get(1) != kvHeads || found.get(3) != headSize) {
            throw MooncakeException.invalid("past array 0", found, "(1, " + kvHeads + ", tokens, " + headSize + ")");
        }
        NDArray[] keys = new NDArray[layers];
        NDArray[] values = new NDArray[layers];
        for (int layer = 0; layer < layers; layer++) {
            keys[layer] = past.get(2 * layer);
            values[layer] = past.get(2 * layer + 1);
        }
        return over(keys, values);
    }

    /** Whether the elements of {@code array} follow each other in memory. Costs a copy where they do not. */
    static boolean isContiguous(NDArray array) {
        PtNDArray tensor = (PtNDArray) array;
        // A tensor that is not contiguous answers with a fresh copy each time.
        long first = MemoryUtil.getByteBufferAddress(tensor.toByteBuffer(true));
        long second = MemoryUtil.getByteBufferAddress(tensor.toByteBuffer(true));
        return first == second;
    }

    private static long address(String name, NDArray array, Shape shape) {
        requireType(name, array.getDataType());
        int dimensions = array.getShape().dimension();
        boolean batched = dimensions == 4 && array.getShape().get(0) == 1;
        if (!array.getShape().equals(shape) || !(dimensions == 3 || batched)) {
            throw MooncakeException.invalid(
                    name,
                    array.getShape(),
                    shape + " as layer 0 has, [1, heads, tokens, elements] or without the batch");
        }
        if (!(array instanceof PtNDArray tensor) || array.getDevice().isGpu()) {
            throw MooncakeException.invalid(name, array.getDevice(), "a PyTorch tensor in CPU memory");
        }
        if (!isContiguous(array)) {
            throw MooncakeException.invalid(name, "a strided view", "a contiguous tensor");
        }
        return MemoryUtil.getByteBufferAddress(tensor.toByteBuffer(true));
    }

    /** Refuses element types that blocks of F32 cannot hold, BF16 (which the engine cannot even allocate) among them. */
    static void requireType(String name, DataType type) {
        if (type != DataType.FLOAT32) {
            throw MooncakeException.invalid(name + " element type", type, "FLOAT32");
        }
    }

    /** Layers. */
    public int layers() {
        return keyAddresses.length;
    }

    /** Tokens each tensor has room for. */
    public int capacity() {
        return capacity;
    }

    /** Copies the first {@code tokens} tokens of {@code other}, which has the same layers, heads and elements. */
    public void copyFrom(KvTensors other, int tokens) {
        if (other.layers() != layers() || other.kvHeads != kvHeads || other.headSize != headSize) {
            throw MooncakeException.invalid(
                    "KV tensors",
                    other.layers() + "x" + other.kvHeads + "x" + other.headSize,
                    layers() + "x" + kvHeads + "x" + headSize);
        }
        if (tokens < 1 || tokens > Math.min(capacity, other.capacity)) {
            throw MooncakeException.invalid("tokens", tokens, "1.." + Math.min(capacity, other.capacity));
        }
        for (int layer = 0; layer < keyAddresses.length; layer++) {
            for (int head = 0; head < kvHeads; head++) {
                long from = other.offset(head, 0);
                long to = offset(head, 0);
                MemoryUtil.copyMemory(other.keyAddresses[layer] + from, keyAddresses[layer] + to, bytes(tokens));
                MemoryUtil.copyMemory(other.valueAddresses[layer] + from, valueAddresses[layer] + to, bytes(tokens));
            }
        }
    }

    /** Copies the first {@code tokens} tokens of {@code block} to token {@code firstToken} and on. */
    public void readBlock(ArrowBuf block, BlockLayout layout, int firstToken, int tokens) {
        requireFit(block, layout, firstToken, tokens);
        for (int layer = 0; layer < keyAddresses.length; layer++) {
            scatter(block.memoryAddress() + layout.keyOffset(layer), keyAddresses[layer], layout, firstToken, tokens);
            scatter(
                    block.memoryAddress() + layout.valueOffset(layer),
                    valueAddresses[layer],
                    layout,
                    firstToken,
                    tokens);
        }
    }

    /** Fills the first {@code tokens} tokens of {@code block} with token {@code firstToken} and on, and zeroes the rest. */
    public void writeBlock(ArrowBuf block, BlockLayout layout, int firstToken, int tokens) {
        requireFit(block, layout, firstToken, tokens);
        if (tokens < layout.blockTokens()) {
            MemoryUtil.setMemory(block.memoryAddress(), layout.payloadBytes(), (byte) 0);
        }
        for (int layer = 0; layer < keyAddresses.length; layer++) {
            gather(keyAddresses[layer], block.memoryAddress() + layout.keyOffset(layer), layout, firstToken, tokens);
            gather(
                    valueAddresses[layer],
                    block.memoryAddress() + layout.valueOffset(layer),
                    layout,
                    firstToken,
                    tokens);
        }
    }

    private void scatter(long block, long tensor, BlockLayout layout, int firstToken, int tokens) {
        for (int head = 0; head < kvHeads; head++) {
            MemoryUtil.copyMemory(
                    block + (long) head * layout.headBytes(), tensor + offset(head, firstToken), bytes(tokens));
        }
    }

    private void gather(long tensor, long block, BlockLayout layout, int firstToken, int tokens) {
        for (int head = 0; head < kvHeads; head++) {
            MemoryUtil.copyMemory(
                    tensor + offset(head, firstToken), block + (long) head * layout.headBytes(), bytes(tokens));
        }
    }

    /**
     * Stores fresh keys and values of one layer.
     *
     * @param keys address of the first token's first key head; heads of a token follow each other
     * @param keyStride bytes from one token's keys to the next one's
     * @param values the same for values
     * @param valueStride the same for values
     */
    public void append(
            int layer, long keys, long keyStride, long values, long valueStride, int firstToken, int tokens) {
        if (firstToken < 0 || tokens < 1 || firstToken > capacity - tokens) {
            throw MooncakeException.invalid("tokens", firstToken + "+" + tokens, "within 0.." + capacity);
        }
        long run = bytes(1);
        for (int token = 0; token < tokens; token++) {
            for (int head = 0; head < kvHeads; head++) {
                long offset = offset(head, firstToken + token);
                MemoryUtil.copyMemory(keys + token * keyStride + head * run, keyAddresses[layer] + offset, run);
                MemoryUtil.copyMemory(values + token * valueStride + head * run, valueAddresses[layer] + offset, run);
            }
        }
    }

    private long offset(int head, int token) {
        return ((long) head * capacity + token) * headSize * ELEMENT_BYTES;
    }

    private long bytes(int tokens) {
        return (long) tokens * headSize * ELEMENT_BYTES;
    }

    private void requireFit(ArrowBuf block, BlockLayout layout, int firstToken, int tokens) {
        if (layout.layers() != keyAddresses.length
                || layout.kvHeads() != kvHeads
                || layout.headSize() != headSize
                || layout.elementBytes() != ELEMENT_BYTES) {
            throw MooncakeException.invalid(
                    "block layout",
                    layout,
                    keyAddresses.length + " layers, " + kvHeads + " heads of " + headSize + " F32 elements");
        }
        if (tokens < 1 || tokens > layout.blockTokens() || firstToken < 0 || firstToken > capacity - tokens) {
            throw MooncakeException.invalid(
                    "tokens", firstToken + "+" + tokens, "1.." + layout.blockTokens() + " within 0.." + capacity);
        }
        if (block.capacity() < layout.payloadBytes()) {
            throw MooncakeException.invalid("block bytes", block.capacity(), "at least " + layout.payloadBytes());
        }
    }
}
