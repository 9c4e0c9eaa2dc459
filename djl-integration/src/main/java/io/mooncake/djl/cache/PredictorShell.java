// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.inference.Predictor;
import ai.djl.modality.nlp.generate.CausalLMOutput;
import ai.djl.ndarray.NDList;
import ai.djl.nn.Blocks;
import ai.djl.pytorch.engine.PtEngine;
import ai.djl.translate.NoBatchifyTranslator;
import ai.djl.translate.TranslateException;
import ai.djl.translate.TranslatorContext;
import java.util.ArrayList;
import java.util.List;

/**
 * A DJL predictor that answers by itself instead of by a block of a DJL model. DJL's class wants a model to hang on; this one has an empty
 * one of its own and closes it.
 *
 * <p>Threading: as its subclass says.
 */
public abstract class PredictorShell extends Predictor<NDList, CausalLMOutput> {
    private final Model shell;

    protected PredictorShell(String name) {
        this(emptyModel(name));
    }

    private PredictorShell(Model shell) {
        super(shell, new Unused(), Device.cpu(), false);
        this.shell = shell;
    }

    private static Model emptyModel(String name) {
        Model model = Model.newInstance(name, PtEngine.ENGINE_NAME);
        model.setBlock(Blocks.identityBlock());
        return model;
    }

    /** Answers one call. */
    @Override
    public abstract CausalLMOutput predict(NDList input) throws TranslateException;

    @Override
    public List<CausalLMOutput> batchPredict(List<NDList> inputs) throws TranslateException {
        List<CausalLMOutput> outputs = new ArrayList<>();
        for (NDList input : inputs) {
            outputs.add(predict(input));
        }
        return outputs;
    }

    @Override
    public void close() {
        super.close();
        shell.close();
    }

    /** Never asked: {@link #predict} does not go through translators. */
    private static final class Unused implements NoBatchifyTranslator<NDList, CausalLMOutput> {
        @Override
        public NDList processInput(TranslatorContext context, NDList input) {
            return input;
        }

        @Override
        public CausalLMOutput processOutput(TranslatorContext context, NDList list) {
            return new CausalLMOutput(list.get(0), list.subNDList(1));
        }
    }
}
