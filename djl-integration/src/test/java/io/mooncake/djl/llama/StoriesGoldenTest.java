// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.gguf.Stories260K;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A trained model against outputs that an independent program confirmed. */
final class StoriesGoldenTest {
    @Test
    void predict_ofGoldenPrompts_givesTheirLogitsAndTokens(@TempDir Path folder) throws Exception {
        Path path = folder.resolve("stories.gguf");
        Stories260K.write(path);
        try (GgufFile file = GgufFile.open(path)) {
            LlamaGguf source = new LlamaGguf(file);
            try (LlamaModel model = LlamaModel.load(source, source.config(), 64)) {
                for (Stories260K.Golden golden : Stories260K.golden()) {
                    check(model, golden);
                }
            }
        }
    }

    private static void check(LlamaModel model, Stories260K.Golden golden) {
        try (LlamaState state = model.newState(512)) {
            int[] prompt = golden.promptIds();
            float[] logits = model.predict(state, prompt, prompt.length);
            for (int i = 0; i < logits.length; i++) {
                assertThat(logits[i])
                        .as("%s: logit %d", golden.prompt(), i)
                        .isCloseTo(golden.logits()[i], within(2e-3f));
            }
            int[] found = new int[golden.greedyIds().length];
            for (int i = 0; i < found.length; i++) {
                found[i] = best(logits);
                logits = model.step(state, found[i]);
            }
            assertThat(found).as(golden.prompt()).isEqualTo(Arrays.copyOf(golden.greedyIds(), found.length));
        }
    }

    private static int best(float[] logits) {
        int best = 0;
        for (int i = 1; i < logits.length; i++) {
            best = logits[i] > logits[best] ? i : best;
        }
        return best;
    }
}
