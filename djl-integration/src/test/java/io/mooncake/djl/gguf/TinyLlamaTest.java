// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TinyLlamaTest {
    @TempDir
    Path folder;

    @Test
    void write_sameSeed_givesTheSameBytesEverywhere() throws Exception {
        String first = digest(7);
        assertThat(digest(7)).isEqualTo(first);
        assertThat(digest(8)).isNotEqualTo(first);
    }

    @Test
    void write_standardShape_hasWhatADecoderNeeds() throws Exception {
        Path path = folder.resolve("tiny.gguf");
        TinyLlama.write(path, 1);
        try (GgufFile file = GgufFile.open(path)) {
            assertThat(file.metadata().requireInt("llama.block_count")).isEqualTo(4);
            assertThat(file.metadata().requireStrings("tokenizer.ggml.tokens"))
                    .hasSize(512)
                    .doesNotHaveDuplicates();
            assertThat(file.requireTensor("blk.3.attn_k.weight", 64, 32).type()).isEqualTo(GgmlType.F32);
            assertThat(file.findTensor("output.weight")).isPresent();
        }
    }

    @Test
    void shape_headsThatDoNotDivide_namesValueAndExpectation() {
        assertThatThrownBy(() -> new TinyLlama.Shape(4, 66, 4, 2, 128, 64, 1e4f, true))
                .hasMessage("dim: 66 (expected: an even multiple of heads 4)");
        assertThatThrownBy(() -> new TinyLlama.Shape(4, 64, 4, 3, 128, 64, 1e4f, true))
                .hasMessage("kvHeads: 3 (expected: a divisor of heads 4)");
    }

    private String digest(long seed) throws Exception {
        Path path = folder.resolve("model.gguf");
        TinyLlama.write(path, seed);
        try (GgufFile file = GgufFile.open(path)) {
            return file.sha256();
        }
    }
}
