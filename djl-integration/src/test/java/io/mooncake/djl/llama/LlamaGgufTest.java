// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.gguf.GgufWriter;
import io.mooncake.djl.gguf.TinyLlama;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class LlamaGgufTest {
    @TempDir
    Path folder;

    private LlamaGguf open(Consumer<GgufWriter> change) throws IOException {
        GgufWriter writer = TinyLlama.writer(3, TinyLlama.Shape.standard());
        change.accept(writer);
        Path path = folder.resolve("model.gguf");
        writer.write(path);
        return new LlamaGguf(GgufFile.open(path));
    }

    @Test
    void open_ofTheTinyModel_readsItsShape() throws IOException {
        LlamaGguf gguf = open(writer -> {});
        assertThat(gguf.config()).isEqualTo(new LlamaConfig(4, 64, 4, 2, 16, 128, 512, 4096, 16, 10_000f, 1, 1e-5f));
        assertThat(gguf.semantics().refusals(4096)).isEmpty();
        assertThat(gguf.tiedEmbeddings()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "linear,''",
        "none,''",
        "dynamic,dynamic NTK scaling",
        "longrope,LongRoPE scaling",
        "yarn,not known here"
    })
    void semantics_byScalingType_areReusableOrRefused(String type, String reason) throws IOException {
        LlamaGguf gguf =
                open(writer -> writer.put("llama.rope.scaling.type", type).put("llama.rope.scaling.factor", 2f));
        if (reason.isEmpty()) {
            gguf.semantics().requireReusable("model", 4096);
            assertThat(gguf.config().ropeScale()).isEqualTo(type.equals("linear") ? 2f : 1f);
        } else {
            assertThatThrownBy(() -> gguf.semantics().requireReusable("model", 4096))
                    .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.MODEL_REFUSED))
                    .hasMessageContaining("model: its KV cannot be shared")
                    .hasMessageContaining(reason);
        }
    }

    @Test
    void semantics_windowBelowTheContext_isRefused() throws IOException {
        LlamaGguf gguf = open(writer -> writer.put("llama.attention.sliding_window", 1024));
        assertThat(gguf.semantics().refusals(4096))
                .containsExactly("window of layer 0: 1024 (expected: none, or at least the context of 4096)");
        assertThat(gguf.semantics().refusals(1024)).isEmpty();
    }

    /** The tiny model with the four bytes behind {@code key} and its type changed. */
    private LlamaGguf patched(String key, byte... value) throws IOException {
        Path path = folder.resolve("patched.gguf");
        TinyLlama.write(path, 3);
        byte[] bytes = Files.readAllBytes(path);
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf(key) + key.length();
        System.arraycopy(value, 0, bytes, at, value.length);
        Files.write(path, bytes);
        return new LlamaGguf(GgufFile.open(path));
    }

    private static byte[] uint32(int value) {
        return new byte[] {4, 0, 0, 0, (byte) value, 0, 0, 0};
    }

    @Test
    void open_ofAnotherArchitecture_isRefused() {
        byte[] mamba = {8, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 'm', 'a', 'm', 'b', 'a'};
        assertThatThrownBy(() -> patched("general.architecture", mamba))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("general.architecture")
                .hasMessageContaining("mamba")
                .hasMessageContaining("llama");
    }

    @Test
    void open_ofShapesThatDoNotFit_isRefused() {
        assertThatThrownBy(() -> patched("llama.attention.head_count_kv", uint32(3)))
                .hasMessageContaining("heads: 4 (expected: a multiple of kvHeads = 3)");
        assertThatThrownBy(() -> patched("llama.feed_forward_length", uint32(100)))
                .hasMessageContaining("ffn_gate.weight")
                .hasMessageContaining("100");
        assertThatThrownBy(() -> patched("llama.block_count", uint32(5)))
                .hasMessageContaining("blk.4.attn_norm.weight");
    }
}
