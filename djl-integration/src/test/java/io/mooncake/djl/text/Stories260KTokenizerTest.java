// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.gguf.Stories260K;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The SentencePiece tokenizer against the ids and texts that an independent program made. */
class Stories260KTokenizerTest {
    @TempDir
    Path folder;

    private Tokenizer tokenizer;

    @BeforeEach
    void open() throws Exception {
        Path model = folder.resolve("stories.gguf");
        Stories260K.write(model);
        try (GgufFile file = GgufFile.open(model)) {
            tokenizer = Tokenizer.of(file.metadata());
        }
    }

    @Test
    void encode_goldenPrompts_givesTheirIds() throws Exception {
        assertThat(Stories260K.golden()).hasSizeGreaterThanOrEqualTo(4);
        for (Stories260K.Golden golden : Stories260K.golden()) {
            assertThat(tokenizer.encode(golden.prompt())).as(golden.prompt()).isEqualTo(golden.promptIds());
        }
    }

    @Test
    void decode_goldenIds_givesTheirText() throws Exception {
        for (Stories260K.Golden golden : Stories260K.golden()) {
            int[] prompt = golden.promptIds();
            int[] all = Arrays.copyOf(prompt, prompt.length + golden.greedyIds().length);
            System.arraycopy(golden.greedyIds(), 0, all, prompt.length, golden.greedyIds().length);
            assertThat(tokenizer.decode(all)).isEqualTo(golden.text());
        }
    }

    @Test
    void encode_charactersOutsideOfTheVocabulary_fallBackToBytesAndComeBack() {
        String text = "Zoë said: \u00fc \u65e5\u672c \ud83d\ude00 <s> {}";
        int[] ids = tokenizer.encode(text, false);
        assertThat(tokenizer.decode(ids)).isEqualTo(text);
        assertThat(ids).doesNotContain(tokenizer.bosId());
    }
}
