// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import ai.djl.inference.Predictor;
import ai.djl.modality.nlp.generate.CausalLMOutput;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.translate.TranslateException;
import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PrefixLease;
import io.mooncake.memory.ReuseMode;
import java.time.Duration;

/**
 * A causal language model that computes only what the pool does not have. On the first call of a sequence (no past) it takes the longest
 * cached prefix as past, lets the wrapped predictor compute the rest, and stores the new full blocks; later calls go through unchanged. To
 * DJL's {@code TextGenerator} it looks like the predictor it wraps. Whether the KV of a foreign model may be reused at all is for {@link SelfTest}
 * to say; run it first.
 *
 * <p>Shapes: as {@link CausalInputs} says; one sequence a call. Logits of a first call cover the tokens of the last chunk computed, so only
 * their last row is meaningful to a caller, and that is what DJL's search strategies read. In exact mode the rest is computed in chunks of
 * one block aligned to absolute position; keys and values made later, while decoding, are not stored.
 *
 * <p>Ownership: closing it closes the wrapped predictor; the pool stays open. Arrays of an answer belong to the manager of the ids.
 * Threading: one thread at a time, as DJL's predictors.
 */
public final class CachedPredictor extends PredictorShell {
    private static final Duration LOOKUP_TIMEOUT = Duration.ofSeconds(2);

    private final Predictor<NDList, CausalLMOutput> predictor;
    private final KvPool pool;
    private final Duration lookupTimeout;
    private Reuse lastReuse = new Reuse(0, 0, 0, MissReason.NONE, 0);

    private CachedPredictor(Predictor<NDList, CausalLMOutput> predictor, KvPool pool, Duration lookupTimeout) {
        super("mooncake-cached");
        this.predictor = predictor;
        this.pool = pool;
        this.lookupTimeout = lookupTimeout;
    }

    /** Wraps {@code predictor}; look-ups take 2 s at most. */
    public static CachedPredictor wrap(Predictor<NDList, CausalLMOutput> predictor, KvPool pool) {
        return wrap(predictor, pool, LOOKUP_TIMEOUT);
    }

    /**
     * Wraps {@code predictor}.
     *
     * @param lookupTimeout how long fetches from other nodes may take a prompt
     * @throws MooncakeException INVALID_ARGUMENT when the pool holds another element type than F32
     */
    public static CachedPredictor wrap(
            Predictor<NDList, CausalLMOutput> predictor, KvPool pool, Duration lookupTimeout) {
        // Asked before any tensor is made: allocating BF16 aborts the process in this engine.
        if (pool.identity().dataType() != KvDataType.F32) {
            throw MooncakeException.invalid(
                    "pool " + pool.name() + " dataType", pool.identity().dataType(), "F32, what CPU models compute");
        }
        return new CachedPredictor(predictor, pool, lookupTimeout);
    }

    /** What the last first call of a sequence took from the cache. */
    public Reuse lastReuse() {
        return lastReuse;
    }

    @Override
    public CausalLMOutput predict(NDList input) throws TranslateException {
        CausalInputs inputs = CausalInputs.parse(input);
        if (!inputs.past().isEmpty()) {
            return predictor.predict(input);
        }
        int[] tokens = inputs.tokens();
        NDManager owner = input.get(0).getManager();
        try (PrefixLease lease = pool.acquire(tokens, Deadline.of(lookupTimeout))) {
            CausalLMOutput output;
            try (NDScope scope = new NDScope();
                    NDManager manager = owner.newSubManager()) {
                scope.suppressNotUsedWarning();
                output = compute(manager, tokens, lease);
                keep(output.getLogits(), owner);
                output.getPastKeyValuesList().forEach(array -> keep(array, owner));
            }
            // Where the caller has a scope of its own, it decides about the answer.
            NDScope.register(output.getLogits());
            output.getPastKeyValuesList().forEach(NDScope::register);
            int stored = store(lease, tokens, output.getPastKeyValuesList());
            lastReuse = new Reuse(tokens.length, lease.localTokens(), lease.remoteTokens(), lease.missReason(), stored);
            return output;
        }
    }

    private static void keep(NDArray array, NDManager owner) {
        NDScope.unregister(array);
        array.attach(owner);
    }

    private CausalLMOutput compute(NDManager manager, int[] tokens, PrefixLease lease) throws TranslateException {
        NDList past = lease.matchedTokens() == 0 ? new NDList() : inject(manager, lease);
        int from = lease.matchedTokens();
        while (true) {
            int to = chunkEnd(from, tokens.length);
            CausalLMOutput output = predictor.predict(CausalInputs.of(manager, tokens, from, to, past));
            requireShape(output, to);
            past.forEach(NDArray::close);
            if (to == tokens.length) {
                return output;
            }
            output.getLogits().close();
            past = output.getPastKeyValuesList();
            from = to;
        }
    }

    private int chunkEnd(int from, int tokens) {
        int block = pool.identity().blockTokens();
        return pool.identity().mode() == ReuseMode.EXACT ? Math.min(tokens, (from / block + 1) * block) : tokens;
    }

    /** The cached prefix as past arrays. */
    private NDList inject(NDManager manager, PrefixLease lease) {
        BlockLayout layout = pool.layout();
        Shape shape = new Shape(1, layout.kvHeads(), lease.matchedTokens(), layout.headSize());
        NDList past = new NDList();
        for (int i = 0; i < 2 * layout.layers(); i++) {
            past.add(manager.create(shape, DataType.FLOAT32));
        }
        KvTensors tensors = KvTensors.over(past, layout.layers(), layout.kvHeads(), layout.headSize());
        for (int block = 0; block < lease.blockCount(); block++) {
            tensors.readBlock(lease.block(block), layout, block * layout.blockTokens(), lease.blockTokens(block));
        }
        return past;
    }

    private void requireShape(CausalLMOutput output, int tokens) {
        NDList past = output.getPastKeyValuesList();
        BlockLayout layout = pool.layout();
        Shape expected = new Shape(1, layout.kvHeads(), tokens, layout.headSize());
        if (past == null || past.size() != 2 * layout.layers()) {
            throw MooncakeException.invalid(
                    "past of the predictor",
                    past == null ? "none" : past.size() + " arrays",
                    2 * layout.layers() + " arrays: keys and values of " + layout.layers() + " layers");
        }
        for (int i = 0; i < past.size(); i++) {
            KvTensors.requireType("past array " + i, past.get(i).getDataType());
            if (!past.get(i).getShape().equals(expected)) {
                throw MooncakeException.invalid(
                        "past array " + i, past.get(i).getShape(), expected + " of pool " + pool.name());
            }
        }
    }

    private int store(PrefixLease lease, int[] tokens, NDList past) {
        BlockLayout layout = pool.layout();
        if (tokens.length / layout.blockTokens() * layout.blockTokens() <= lease.matchedTokens()) {
            return 0;
        }
        try (NDScope scope = new NDScope();
                BlockWriter writer = pool.extend(lease, tokens)) {
            scope.suppressNotUsedWarning();
            NDList whole = contiguous(past);
            KvTensors tensors = KvTensors.over(whole, layout.layers(), layout.kvHeads(), layout.headSize());
            while (writer.hasNext()) {
                int first = writer.blockIndex() * layout.blockTokens();
                tensors.writeBlock(writer.next(), layout, first, layout.blockTokens());
            }
            return writer.publish();
        }
    }

    /** Models may answer with views, for example transposed ones; blocks are copied from plain memory. */
    private static NDList contiguous(NDList past) {
        NDList result = new NDList();
        for (NDArray array : past) {
            if (KvTensors.isContiguous(array)) {
                result.add(array);
            } else {
                NDArray copy = array.getManager().create(array.getShape(), array.getDataType());
                copy.set(new NDIndex(":"), array);
                result.add(copy);
            }
        }
        return result;
    }

    @Override
    public void close() {
        predictor.close();
        super.close();
    }
}
