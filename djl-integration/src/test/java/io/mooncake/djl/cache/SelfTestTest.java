// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.inference.Predictor;
import ai.djl.modality.nlp.generate.CausalLMOutput;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.translate.TranslateException;
import io.mooncake.base.MooncakeException;
import io.mooncake.djl.TestModel;
import io.mooncake.memory.BlockLayout;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

final class SelfTestTest {
    /** Changes what the model is asked or what it answers. */
    private abstract static class Broken extends PredictorShell {
        final Predictor<NDList, CausalLMOutput> inner;

        Broken(Predictor<NDList, CausalLMOutput> inner) {
            super("broken");
            this.inner = inner;
        }

        @Override
        public void close() {
            inner.close();
            super.close();
        }
    }

    private static SelfTest.Report run(
            Function<Predictor<NDList, CausalLMOutput>, Predictor<NDList, CausalLMOutput>> how) {
        try (TestModel tiny = TestModel.exact();
                var predictor = how.apply(tiny.model.newPredictor())) {
            return SelfTest.run(
                    predictor,
                    BlockLayout.of(tiny.identity),
                    512,
                    tiny.model.config().contextTokens());
        }
    }

    @Test
    void run_ofASoundModel_passes() {
        SelfTest.Report report = run(inner -> inner);
        assertThat(report.failures()).isEmpty();
        assertThat(report.largestDifference()).isLessThan(1e-4);
    }

    @Test
    void run_ofAModelWhosePositionsStartAnewInEachCall_refusesIt() {
        // The past's keys are dropped from the model's view: each call sees its own tokens from position 0.
        SelfTest.Report report = run(inner -> new Broken(inner) {
            @Override
            public CausalLMOutput predict(NDList input) throws TranslateException {
                NDArray ids = input.get(0);
                int[] tokens = java.util.Arrays.stream(ids.toLongArray())
                        .mapToInt(id -> (int) id)
                        .toArray();
                CausalLMOutput fresh =
                        inner.predict(CausalInputs.of(ids.getManager(), tokens, 0, tokens.length, new NDList()));
                if (input.size() <= 3) {
                    return fresh;
                }
                NDList joined = new NDList();
                for (int i = 0; i < fresh.getPastKeyValuesList().size(); i++) {
                    joined.add(
                            input.get(3 + i).concat(fresh.getPastKeyValuesList().get(i), 2));
                }
                return new CausalLMOutput(fresh.getLogits(), joined);
            }
        });
        assertThat(report.passed()).isFalse();
        assertThatThrownBy(() -> report.requirePassed("tiny"))
                .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                        .isEqualTo(MooncakeException.Code.MODEL_REFUSED))
                .hasMessageContaining(
                        "tiny: the self-test of KV reuse failed: one call of 300 tokens: logits differ by");
    }

    @Test
    void run_ofAModelWhoseKeysDependOnTheLength_refusesIt() {
        SelfTest.Report report = run(inner -> new Broken(inner) {
            @Override
            public CausalLMOutput predict(NDList input) throws TranslateException {
                CausalLMOutput output = inner.predict(input);
                // As dynamic scaling does: past 200 tokens all keys are other ones.
                if (output.getPastKeyValuesList().get(0).getShape().get(2) > 200) {
                    for (int i = 0; i < output.getPastKeyValuesList().size(); i += 2) {
                        output.getPastKeyValuesList().get(i).muli(0.7f);
                    }
                }
                return output;
            }
        });
        assertThat(report.passed()).isFalse();
    }

    @Test
    void run_ofAModelWithState_refusesIt() {
        SelfTest.Report report = run(inner -> new Broken(inner) {
            private float calls;

            @Override
            public CausalLMOutput predict(NDList input) throws TranslateException {
                CausalLMOutput output = inner.predict(input);
                output.getLogits().addi(calls += 0.001f);
                return output;
            }
        });
        assertThat(report.failures()).anySatisfy(failure -> assertThat(failure).contains("expected: the same bits"));
    }

    @Test
    void run_ofAModelThatDropsOldTokens_refusesIt() {
        SelfTest.Report report = run(inner -> new Broken(inner) {
            @Override
            public CausalLMOutput predict(NDList input) throws TranslateException {
                CausalLMOutput output = inner.predict(input);
                NDList rolled = new NDList();
                for (NDArray array : output.getPastKeyValuesList()) {
                    long tokens = array.getShape().get(2);
                    rolled.add(array.get(new NDIndex(":, :, {}:, :", Math.max(0, tokens - 100))));
                }
                return new CausalLMOutput(output.getLogits(), rolled);
            }
        });
        assertThat(report.failures()).anySatisfy(failure -> assertThat(failure)
                .contains("past after 128 tokens: (1, 2, 100, 16) (expected: (1, 2, 128, 16), one entry a token fed)"));
    }

    /** Its window is beyond 300 tokens, so that only the longer prompt can show that its past rolls. */
    @Test
    void run_ofAModelThatRollsBeyondItsWindow_refusesItWhenToldTheWindow() {
        Function<Predictor<NDList, CausalLMOutput>, Predictor<NDList, CausalLMOutput>> rolling =
                inner -> new Broken(inner) {
                    @Override
                    public CausalLMOutput predict(NDList input) throws TranslateException {
                        CausalLMOutput output = inner.predict(input);
                        NDList rolled = new NDList();
                        for (NDArray array : output.getPastKeyValuesList()) {
                            long tokens = array.getShape().get(2);
                            rolled.add(array.get(new NDIndex(":, :, {}:, :", Math.max(0, tokens - 330))));
                        }
                        return new CausalLMOutput(output.getLogits(), rolled);
                    }
                };
        try (TestModel tiny = TestModel.exact();
                var sound = tiny.model.newPredictor();
                var rolls = rolling.apply(tiny.model.newPredictor())) {
            BlockLayout layout = BlockLayout.of(tiny.identity);
            int context = tiny.model.config().contextTokens();
            assertThat(SelfTest.run(rolls, layout, 512, context).passed()).isTrue();
            assertThat(SelfTest.run(rolls, layout, 512, context, 330).failures())
                    .anySatisfy(failure -> assertThat(failure).contains("past after 384 tokens"));
            assertThat(SelfTest.run(sound, layout, 512, context, 330).failures())
                    .isEmpty();
        }
    }

    @Test
    void run_ofAModelThatAnswersNotANumber_refusesIt() {
        SelfTest.Report report = run(inner -> new Broken(inner) {
            @Override
            public CausalLMOutput predict(NDList input) throws TranslateException {
                CausalLMOutput output = inner.predict(input);
                output.getLogits().muli(Float.NaN);
                return output;
            }
        });
        assertThat(report.passed()).isFalse();
    }
}
