// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import ai.djl.modality.nlp.generate.CausalLMOutput;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import io.mooncake.djl.cache.CausalInputs;
import io.mooncake.djl.cache.KvTensors;
import io.mooncake.djl.cache.PredictorShell;
import java.util.List;

/** A {@link LlamaModel} behind DJL's predictor contract. The past goes in and out by value: one copy a call. */
final class LlamaPredictor extends PredictorShell {
    private final LlamaModel model;
    private final LlamaModel.Want want;

    LlamaPredictor(LlamaModel model, LlamaModel.Want want) {
        super("llama");
        this.model = model;
        this.want = want;
    }

    @Override
    public CausalLMOutput predict(NDList input) {
        CausalInputs inputs = CausalInputs.parse(input);
        NDManager owner = input.get(0).getManager();
        LlamaConfig config = model.config();
        int before = inputs.past().isEmpty()
                ? 0
                : (int) inputs.past().get(0).getShape().get(2);
        int to = before + inputs.tokens().length;
        try (LlamaState state = model.newState(to)) {
            if (before > 0) {
                state.copyFrom(
                        KvTensors.over(inputs.past(), config.layers(), config.kvHeads(), config.headSize()), before);
                state.moveTo(before);
            }
            int[] tokens = new int[to];
            System.arraycopy(inputs.tokens(), 0, tokens, before, inputs.tokens().length);
            List<NDArray> rows = model.rows(state, tokens, to, want);
            return model.sharing(() -> new CausalLMOutput(join(rows, owner), state.handOver(owner)));
        }
    }

    /** [1, rows, vocabulary] owned by {@code owner}. */
    private static NDArray join(List<NDArray> rows, NDManager owner) {
        NDList parts = new NDList(rows);
        NDArray all = parts.size() == 1 ? parts.get(0) : NDArrays.concat(parts, 0);
        NDArray shaped = all.expandDims(0);
        shaped.attach(owner);
        for (NDArray part : rows) {
            part.close();
        }
        all.close();
        return shaped;
    }
}
