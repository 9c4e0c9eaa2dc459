// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.inference.Predictor;
import ai.djl.modality.nlp.generate.CausalLMOutput;
import ai.djl.modality.nlp.generate.SearchConfig;
import ai.djl.modality.nlp.generate.TextGenerator;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.translate.TranslateException;
import io.mooncake.djl.FlatMemory;
import io.mooncake.djl.TestModel;
import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MemoryRegion;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.ReuseMode;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class CachedPredictorTest {
    private static long[] generate(Predictor<NDList, CausalLMOutput> predictor, int[] prompt, int tokens)
            throws TranslateException {
        SearchConfig config = new SearchConfig();
        config.setMaxSeqLength(prompt.length + tokens);
        config.setPadTokenId(-1);
        try (NDManager manager = NDManager.newBaseManager("PyTorch")) {
            long[] ids = Arrays.stream(prompt).asLongStream().toArray();
            return new TextGenerator(predictor, "greedy", config)
                    .greedySearch(manager.create(ids, new Shape(1, ids.length)))
                    .toLongArray();
        }
    }

    @Test
    void generate_byDjlsTextGenerator_givesTheSameTokens() throws Exception {
        try (TestModel tiny = TestModel.exact();
                var plain = tiny.model.newPredictor();
                CachedPredictor cached = CachedPredictor.wrap(tiny.model.newPredictor(), tiny.pool)) {
            Random random = new Random(TestModel.SEED);
            for (int length : new int[] {1, 64, 65, 130, 300}) {
                int[] prompt = tiny.prompt(random, length);
                long[] expected = generate(plain, prompt, 12);
                assertThat(generate(cached, prompt, 12)).containsExactly(expected);
                assertThat(cached.lastReuse().reusedTokens()).isZero();
                assertThat(cached.lastReuse().storedBlocks()).isEqualTo(length / 64);
                assertThat(generate(cached, prompt, 12)).containsExactly(expected);
                assertThat(cached.lastReuse().localTokens()).isEqualTo((length - 1) / 64 * 64);
                assertThat(cached.lastReuse().missReason()).isEqualTo(MissReason.NONE);
            }
            assertThat(tiny.pool.stats().openLeases()).isZero();
        }
    }

    @Test
    void predict_withReuse_hasTheSameBitsAsTheModelAlone() throws Exception {
        try (TestModel tiny = TestModel.exact();
                CachedPredictor cached = CachedPredictor.wrap(tiny.model.newPredictor(), tiny.pool)) {
            Random random = new Random(TestModel.SEED);
            int[] base = tiny.prompt(random, 448);
            for (int i = 0; i < 20; i++) {
                int[] prompt = Arrays.copyOf(base, 1 + random.nextInt(448));
                prompt[prompt.length - 1] = random.nextInt(512);
                float[][] all = tiny.model.logits(prompt);
                assertThat(logits(cached, prompt))
                        .as("%d tokens, seed %d", prompt.length, TestModel.SEED)
                        .containsExactly(lastByEngine(tiny, prompt))
                        .hasSameSizeAs(all[0]);
            }
        }
    }

    private static float[] lastByEngine(TestModel tiny, int[] prompt) {
        try (var state = tiny.model.newState(512)) {
            return tiny.model.predict(state, prompt, prompt.length);
        }
    }

    private static float[] logits(Predictor<NDList, CausalLMOutput> predictor, int[] prompt) throws TranslateException {
        try (NDManager manager = NDManager.newBaseManager("PyTorch")) {
            NDArray logits = predictor
                    .predict(CausalInputs.of(manager, prompt, 0, prompt.length, new NDList()))
                    .getLogits();
            return logits.get("0, -1, :").toFloatArray();
        }
    }

    @Test
    void predict_modelWithTransposedPast_storesTheRightNumbers() throws Exception {
        try (TestModel tiny = TestModel.exact();
                CachedPredictor cached =
                        CachedPredictor.wrap(new TransposedPast(tiny.model.newPredictor()), tiny.pool)) {
            int[] prompt = tiny.prompt(new Random(TestModel.SEED), 200);
            float[] expected = lastByEngine(tiny, prompt);
            assertThat(logits(cached, prompt)).containsExactly(expected);
            assertThat(logits(cached, prompt)).containsExactly(expected);
            assertThat(cached.lastReuse().localTokens()).isEqualTo(192);
        }
    }

    /** Gives its past as views of another memory order, as models that transpose heads and tokens do. */
    private static final class TransposedPast extends PredictorShell {
        private final Predictor<NDList, CausalLMOutput> inner;

        TransposedPast(Predictor<NDList, CausalLMOutput> inner) {
            super("transposed");
            this.inner = inner;
        }

        @Override
        public CausalLMOutput predict(NDList input) throws TranslateException {
            NDList contiguous = new NDList(input.subList(0, 3));
            for (NDArray array : input.subList(3, input.size())) {
                NDArray copy = array.getManager().create(array.getShape(), DataType.FLOAT32);
                copy.set(new ai.djl.ndarray.index.NDIndex(":"), array);
                contiguous.add(copy);
            }
            CausalLMOutput output = inner.predict(contiguous);
            NDList views = new NDList();
            for (NDArray array : output.getPastKeyValuesList()) {
                NDArray swapped = array.transpose(0, 2, 1, 3);
                NDArray memory = array.getManager().create(swapped.getShape(), DataType.FLOAT32);
                memory.set(new ai.djl.ndarray.index.NDIndex(":"), swapped);
                views.add(memory.transpose(0, 2, 1, 3));
            }
            return new CausalLMOutput(output.getLogits(), views);
        }

        @Override
        public void close() {
            inner.close();
            super.close();
        }
    }

    @Test
    void predict_badInputs_areRefusedByName() {
        try (TestModel tiny = TestModel.exact();
                CachedPredictor cached = CachedPredictor.wrap(tiny.model.newPredictor(), tiny.pool);
                NDManager manager = NDManager.newBaseManager("PyTorch")) {
            NDArray ids = manager.zeros(new Shape(2, 5), DataType.INT64);
            assertThatThrownBy(() -> cached.predict(new NDList(ids)))
                    .hasMessageContaining("ids: (2, 5) (expected: [1, tokens]");
            NDArray one = manager.zeros(new Shape(1, 3), DataType.INT64);
            NDArray shifted = manager.create(new long[] {0, 0, 1}, new Shape(1, 3));
            NDArray padded = manager.create(new long[] {0, 1, 1}, new Shape(1, 3));
            NDArray right = manager.create(new long[] {0, 1, 2}, new Shape(1, 3));
            assertThatThrownBy(() -> cached.predict(new NDList(one, shifted, padded)))
                    .hasMessageContaining("positions: 0..1 (expected: 0..2");
            assertThatThrownBy(() -> cached.predict(new NDList(one, right, padded)))
                    .hasMessageContaining("attention mask: 2 of 3 tokens");
            assertThatThrownBy(() -> cached.predict(new NDList(one.toType(DataType.FLOAT32, true))))
                    .hasMessageContaining("ids element type: float32");
            assertThat(tiny.pool.stats().openLeases()).isZero();
        }
    }

    @Test
    void predict_modelOfAnotherShape_isRefusedAndStoresNothing() {
        try (TestModel tiny = TestModel.exact();
                TestModel other = TestModel.create(
                        new TinyLlama.Shape(2, 64, 4, 4, 128, 4096, 10_000f, false), ReuseMode.EXACT, 64);
                CachedPredictor cached = CachedPredictor.wrap(other.model.newPredictor(), tiny.pool)) {
            assertThatThrownBy(() -> logits(cached, tiny.prompt(new Random(1), 100)))
                    .hasMessageContaining("past of the predictor: 4 arrays (expected: 8 arrays");
            assertThat(tiny.pool.stats().blocks()).isZero();
            assertThat(tiny.pool.stats().openLeases()).isZero();
        }
    }

    @Test
    void wrap_poolOfBf16_isRefusedBeforeAnyTensor() {
        try (TestModel tiny = TestModel.exact();
                var predictor = tiny.model.newPredictor()) {
            KvIdentity f32 = tiny.identity;
            KvIdentity bf16 = new KvIdentity(
                    f32.modelDigest(),
                    f32.tokenizerDigest(),
                    "",
                    f32.engineLayout(),
                    f32.rope(),
                    f32.mode(),
                    KvDataType.BF16,
                    f32.layers(),
                    f32.kvHeads(),
                    f32.headSize(),
                    f32.blockTokens(),
                    1,
                    0);
            long bytes = LocalKvPool.blockStrideBytes(bf16);
            try (MemoryRegion region = MemoryRegion.allocate(bytes);
                    LocalKvPool pool = LocalKvPool.create("bf16", bf16, 512, region, 0, bytes)) {
                assertThatThrownBy(() -> CachedPredictor.wrap(predictor, (KvPool) pool))
                        .hasMessage("pool bf16 dataType: BF16 (expected: F32, what CPU models compute)");
            }
        }
    }

    @Test
    void predict_thousandsOfRoundTrips_keepsMemoryFlat() throws Exception {
        try (TestModel tiny = TestModel.create(
                        new TinyLlama.Shape(1, 64, 4, 2, 64, 512, 10_000f, true), ReuseMode.EXACT, 64, 16);
                CachedPredictor cached = CachedPredictor.wrap(tiny.model.newPredictor(), tiny.pool)) {
            Random random = new Random(TestModel.SEED);
            int[][] prompts = new int[12][];
            for (int i = 0; i < prompts.length; i++) {
                prompts[i] = tiny.prompt(random, 100 + 20 * i);
            }
            // A past is 50 KiB, and the chunks before it as much again.
            FlatMemory.hold(TestModel.LONG ? 5_000 : 700, () -> {
                try {
                    logits(cached, prompts[random.nextInt(prompts.length)]);
                } catch (TranslateException e) {
                    throw new AssertionError(e);
                }
            });
            assertThat(tiny.pool.stats().openLeases()).isZero();
        }
    }
}
