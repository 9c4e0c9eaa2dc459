// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.inference.Predictor;
import ai.djl.modality.nlp.generate.CausalLMOutput;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.translate.TranslateException;
import io.mooncake.base.MooncakeException;
import io.mooncake.djl.FlatMemory;
import io.mooncake.djl.TestModel;
import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.PrefixLease;
import io.mooncake.memory.ReuseMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.arrow.memory.ArrowBuf;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class LlamaModelTest {
    @ParameterizedTest
    @CsvSource({"4,2,16,false", "8,8,16,true", "6,2,64,false", "4,1,64,true"})
    void logits_ofManyShapes_equalThePlainArithmetic(int heads, int kvHeads, int chunk, boolean tied) {
        TinyLlama.Shape shape = new TinyLlama.Shape(2, heads * 16, heads, kvHeads, 96, 512, 10_000f, tied);
        try (TestModel tiny = TestModel.create(shape, ReuseMode.EXACT, chunk, 4)) {
            PlainLlama plain = PlainLlama.load(tiny.file);
            int[] tokens = tiny.prompt(new Random(TestModel.SEED), 90);
            float[][] expected = plain.logits(tokens);
            float[][] found = tiny.model.logits(tokens);
            for (int i = 0; i < tokens.length; i++) {
                for (int j = 0; j < expected[i].length; j++) {
                    assertThat(found[i][j])
                            .as("token %d logit %d seed %d", i, j, TestModel.SEED)
                            .isCloseTo(expected[i][j], within(2e-3f));
                }
            }
        }
    }

    @Test
    void predict_afterEveryAlignedPrefix_hasTheSameBits() {
        try (TestModel tiny = TestModel.exact()) {
            Random random = new Random(TestModel.SEED);
            for (int length : new int[] {65, 128, 129, 200, 321, 448}) {
                int[] tokens = tiny.prompt(random, length);
                try (LlamaState whole = tiny.model.newState(512);
                        LlamaState other = tiny.model.newState(length)) {
                    float[] expected = tiny.model.predict(whole, tokens, length);
                    for (int prefix = 64; prefix < length; prefix += 64) {
                        other.moveTo(0);
                        other.copyFrom(whole.tensors(), prefix);
                        other.moveTo(prefix);
                        assertThat(tiny.model.predict(other, tokens, length))
                                .as("prefix %d of %d, seed %d", prefix, length, TestModel.SEED)
                                .containsExactly(expected);
                    }
                }
            }
        }
    }

    /** Copies go by address: into freed memory they would end the process. */
    @Test
    void readBlock_closedModelOrState_isRefused() {
        try (TestModel tiny = TestModel.exact()) {
            BlockLayout layout = BlockLayout.of(tiny.identity);
            LlamaState closed = tiny.model.newState(64);
            closed.close();
            LlamaState orphan = tiny.model.newState(64);
            try (PrefixLease none = tiny.pool.withoutLookup();
                    BlockWriter writer = tiny.pool.extend(none, new int[64])) {
                ArrowBuf block = writer.next();
                tiny.model.close();
                for (LlamaState state : new LlamaState[] {closed, orphan}) {
                    assertThatThrownBy(() -> state.readBlock(block, layout, 0, 64))
                            .isInstanceOf(MooncakeException.class)
                            .hasMessageContaining("closed");
                    assertThatThrownBy(() -> state.writeBlock(block, layout, 0, 64))
                            .isInstanceOf(MooncakeException.class)
                            .hasMessageContaining("closed");
                }
                orphan.close();
            }
        }
    }

    @Test
    void get_otherThreadsThanDeclared_isRefused() {
        TorchEngine.get();
        int running = TorchEngine.threads();
        System.setProperty("ai.djl.pytorch.num_threads", Integer.toString(running + 1));
        try {
            assertThatThrownBy(TorchEngine::get)
                    .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.CONFIGURATION))
                    .hasMessageContaining(running + " thread(s)")
                    .hasMessageContaining("expected: " + (running + 1));
        } finally {
            System.setProperty("ai.djl.pytorch.num_threads", Integer.toString(running));
        }
        assertThat(TorchEngine.get()).isNotNull();
    }

    @Test
    void step_afterPredict_continuesTheSequence() {
        try (TestModel tiny = TestModel.exact()) {
            int[] tokens = tiny.prompt(new Random(TestModel.SEED), 80);
            float[][] all = tiny.model.logits(tokens);
            try (LlamaState state = tiny.model.newState(128)) {
                tiny.model.predict(state, tokens, 70);
                for (int i = 70; i < 80; i++) {
                    float[] found = tiny.model.step(state, tokens[i]);
                    for (int j = 0; j < found.length; j++) {
                        assertThat(found[j]).isCloseTo(all[i][j], within(1e-3f));
                    }
                }
            }
        }
    }

    @Test
    void logProbabilities_ofAPrompt_equalThoseOfItsLogits() {
        try (TestModel tiny = TestModel.exact()) {
            int[] tokens = tiny.prompt(new Random(TestModel.SEED), 130);
            float[][] logits = tiny.model.logits(tokens);
            double[] found = tiny.model.logProbabilities(tokens);
            assertThat(found).hasSize(129);
            for (int i = 0; i < found.length; i++) {
                double sum = 0;
                for (float logit : logits[i]) {
                    sum += Math.exp(logit);
                }
                assertThat(found[i]).isCloseTo(logits[i][tokens[i + 1]] - Math.log(sum), within(1e-4));
            }
        }
    }

    @Test
    void predict_byTwoThreads_hasTheSameBits() throws Exception {
        try (TestModel tiny = TestModel.exact()) {
            int[] tokens = tiny.prompt(new Random(TestModel.SEED), 300);
            ExecutorService threads = Executors.newFixedThreadPool(2);
            try {
                Future<float[]> first = threads.submit(() -> predict(tiny, tokens, 40));
                Future<float[]> second = threads.submit(() -> predict(tiny, tokens, 40));
                assertThat(first.get()).containsExactly(second.get());
            } finally {
                threads.shutdownNow();
            }
        }
    }

    private static float[] predict(TestModel tiny, int[] tokens, int times) {
        float[] logits = {};
        for (int i = 0; i < times; i++) {
            try (LlamaState state = tiny.model.newState(320)) {
                logits = tiny.model.predict(state, tokens, tokens.length);
            }
        }
        return logits;
    }

    @RepeatedTest(15)
    void close_duringUse_endsTheUserWithAnError() throws Exception {
        TestModel tiny = TestModel.exact();
        int[] tokens = tiny.prompt(new Random(TestModel.SEED), 3);
        List<Callable<?>> uses = List.of(
                () -> {
                    try (LlamaState state = tiny.model.newState(tokens.length)) {
                        return tiny.model.predict(state, tokens, tokens.length);
                    }
                },
                () -> tiny.model.logits(tokens),
                () -> predictOnce(tiny.model, tokens));
        CountDownLatch running = new CountDownLatch(uses.size());
        ExecutorService threads = Executors.newFixedThreadPool(uses.size());
        try {
            List<Future<?>> users = new ArrayList<>();
            for (Callable<?> use : uses) {
                users.add(threads.submit(() -> {
                    use.call();
                    running.countDown();
                    while (true) {
                        use.call();
                    }
                }));
            }
            running.await();
            tiny.close();
            for (Future<?> user : users) {
                assertThatThrownBy(user::get)
                        .hasRootCauseInstanceOf(MooncakeException.class)
                        .hasMessageContaining("closed");
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static float[] predictOnce(LlamaModel model, int[] tokens) throws TranslateException {
        try (NDManager manager = NDManager.newBaseManager();
                Predictor<NDList, CausalLMOutput> predictor = model.newPredictor()) {
            long[] ids = Arrays.stream(tokens).asLongStream().toArray();
            NDArray positions = manager.arange(0, tokens.length, 1, DataType.INT64);
            NDArray mask = manager.ones(new Shape(1, tokens.length), DataType.INT64);
            CausalLMOutput output = predictor.predict(
                    new NDList(manager.create(ids, new Shape(1, tokens.length)), positions.expandDims(0), mask));
            return output.getLogits().toFloatArray();
        }
    }

    @Test
    void predict_badTokens_areRefusedByPosition() {
        try (TestModel tiny = TestModel.exact();
                LlamaState state = tiny.model.newState(64)) {
            assertThatThrownBy(() -> tiny.model.predict(state, new int[] {1, 2, 512}, 3))
                    .hasMessage("token at position 2: 512 (expected: 0..511)");
            assertThatThrownBy(() -> tiny.model.predict(state, new int[] {-1}, 1))
                    .hasMessageContaining("position 0: -1");
            assertThatThrownBy(() -> tiny.model.predict(state, new int[65], 65)).hasMessageContaining("capacity of 64");
            assertThatThrownBy(() -> tiny.model.newState(1 << 20)).hasMessageContaining("state capacity: 1048576");
        }
    }

    @Test
    void run_thousandsOfTimes_keepsMemoryFlat() {
        TinyLlama.Shape shape = new TinyLlama.Shape(1, 64, 4, 2, 64, 256, 10_000f, true);
        try (TestModel tiny = TestModel.create(shape, ReuseMode.EXACT, 64, 4)) {
            int[] tokens = tiny.prompt(new Random(TestModel.SEED), 96);
            // A state is 64 KiB.
            FlatMemory.hold(TestModel.LONG ? 10_000 : 1_000, () -> {
                try (LlamaState state = tiny.model.newState(256)) {
                    tiny.model.predict(state, tokens, 96);
                    tiny.model.step(state, 5);
                }
            });
        }
    }

    @Test
    void fileRow_ofEveryElement_isAPermutation() {
        int[] rows = new int[16];
        for (int i = 0; i < 16; i++) {
            rows[i] = LlamaWeights.fileRow(i, 16);
        }
        assertThat(rows).startsWith(0, 2, 4).endsWith(11, 13, 15);
        Arrays.sort(rows);
        assertThat(rows).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
}
