// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.mooncake.base.MooncakeException;
import io.mooncake.djl.cache.KvTensors;
import io.mooncake.memory.BlockLayout;
import java.util.function.Consumer;
import org.apache.arrow.memory.ArrowBuf;

/**
 * Keys and values of one sequence: two tensors [kvHeads, capacity, headSize] a layer, preallocated and written in place. Rows at and
 * beyond {@link #position()} are never read.
 *
 * <p>Ownership: owed a close by whoever asked {@link LlamaModel#newState} for it; closed with the model at the latest. Threading: one
 * thread at a time; closing waits for a forward pass that is under way.
 */
public final class LlamaState implements AutoCloseable {
    private final LlamaModel model;
    private final int capacity;
    private final NDManager manager;
    private final NDArray[] keys;
    private final NDArray[] values;
    private final KvTensors tensors;
    private int position;
    private boolean closed;

    LlamaState(LlamaModel model, NDManager parent, int capacity) {
        LlamaConfig config = model.config();
        this.model = model;
        this.capacity = capacity;
        this.manager = parent.newSubManager();
        this.keys = new NDArray[config.layers()];
        this.values = new NDArray[config.layers()];
        Shape shape = new Shape(config.kvHeads(), capacity, config.headSize());
        for (int layer = 0; layer < config.layers(); layer++) {
            keys[layer] = manager.zeros(shape, DataType.FLOAT32);
            values[layer] = manager.zeros(shape, DataType.FLOAT32);
            // A scope that the caller happens to have open must not free them.
            NDScope.unregister(keys[layer], values[layer]);
        }
        this.tensors = KvTensors.over(keys, values);
    }

    /** Tokens it can hold. */
    public int capacity() {
        return capacity;
    }

    /** Tokens fed so far; the next token gets this absolute position. */
    public int position() {
        return position;
    }

    /** The model it belongs to. */
    public LlamaModel model() {
        return model;
    }

    /**
     * Copies the first {@code tokens} tokens of a cache block to token {@code firstToken} and on.
     *
     * @throws MooncakeException ILLEGAL_STATE when this or the model is closed
     */
    public void readBlock(ArrowBuf block, BlockLayout layout, int firstToken, int tokens) {
        copying(to -> to.readBlock(block, layout, firstToken, tokens));
    }

    /**
     * Fills the first {@code tokens} tokens of a cache block with token {@code firstToken} and on.
     *
     * @throws MooncakeException ILLEGAL_STATE when this or the model is closed
     */
    public void writeBlock(ArrowBuf block, BlockLayout layout, int firstToken, int tokens) {
        copying(from -> from.writeBlock(block, layout, firstToken, tokens));
    }

    /** Copies the first {@code tokens} tokens of {@code other}. */
    void copyFrom(KvTensors other, int tokens) {
        copying(to -> to.copyFrom(other, tokens));
    }

    /** Copies go by address: nobody may free the tensors meanwhile. */
    private void copying(Consumer<KvTensors> copy) {
        model.sharing(() -> {
            requireOpen();
            copy.accept(tensors);
            return null;
        });
    }

    /** The numbers by address; borrowed, for the model while it runs a pass and so cannot be closed. */
    KvTensors tensors() {
        requireOpen();
        return tensors;
    }

    /**
     * Says that the first {@code tokens} tokens are filled: after a copy from cache blocks, or to go back in a sequence. What lies behind
     * is forgotten.
     */
    public void moveTo(int tokens) {
        requireOpen();
        if (tokens < 0 || tokens > capacity) {
            throw MooncakeException.invalid("position", tokens, "0.." + capacity);
        }
        position = tokens;
    }

    NDArray keys(int layer) {
        return keys[layer];
    }

    NDArray values(int layer) {
        return values[layer];
    }

    /**
     * Gives the tensors away as past arrays [1, kvHeads, capacity, headSize], keys and values of each layer in turn; what remains is only
     * to be closed.
     */
    NDList handOver(NDManager owner) {
        requireOpen();
        NDList past = new NDList();
        for (int layer = 0; layer < keys.length; layer++) {
            for (NDArray tensor : new NDArray[] {keys[layer], values[layer]}) {
                NDArray batched = tensor.expandDims(0);
                batched.attach(owner);
                past.add(batched);
            }
        }
        return past;
    }

    NDManager manager() {
        return manager;
    }

    void requireOpen() {
        if (closed) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "model state: closed (expected: open)");
        }
    }

    /** Frees the tensors. Idempotent. */
    @Override
    public void close() {
        model.exclusively(() -> {
            if (!closed) {
                closed = true;
                manager.close();
            }
        });
    }
}
