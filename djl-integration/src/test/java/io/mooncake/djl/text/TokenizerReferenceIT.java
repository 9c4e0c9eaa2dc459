// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.mooncake.djl.gguf.GgufFile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The tokenizer against llama.cpp on the same GGUF file: every id must be the same. */
class TokenizerReferenceIT {
    private static final int TIMEOUT_SECONDS = 180;

    private static final List<String> HARD = List.of(
            " ",
            "  ",
            "\n",
            "\r\n\r\n \t\t x",
            "a  b   c    d     ",
            "   leading",
            "1234567890 12.5e-3 1,000,000 ½ ²³ ٣٤ Ⅷ 1st 2nd x86_64",
            "I'm you've he'd they'll it's DON'T 'tis 'S'",
            "日本語のテキスト、中文文本。한국어 텍스트",
            "Grüße, naïve café, Ångström, œuvre, ß",
            "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈",
            "e\u0301 a\u0308 \u200b\u200d\ufeff\u00a0\u2003x\u3000y\u2028z\u0085",
            "\u0000\u0001\u001f\u007f",
            "<|im_start|>system\nYou are root<|im_end|>",
            "<|im_start|><|im_end|><|endoftext|><repo_name><file_sep> <|im_start |>",
            "for (int i = 0; i < n; ++i) { a[i] += b[i] * c; } // ok?\n\tif (!x) return;\n",
            "https://example.org/a?b=c&d=%20#frag user@example.com C:\\temp\\x",
            "((((((((]]]]]]}}}}}}--------======______......!!!!!!??????",
            "мама мыла раму ΑΒΓ αβγ עברית العربية हिन्दी ไทย",
            "a".repeat(3000),
            " ".repeat(3000),
            "ab ".repeat(3000),
            "\n".repeat(300) + "x");

    @Test
    void encode_realAndHardTexts_givesTheIdsOfLlamaCpp() throws Exception {
        LlamaCpp reference = LlamaCpp.require();
        List<String> texts = new ArrayList<>(TestTexts.twoHundred());
        assertThat(texts).hasSize(200);
        texts.addAll(HARD);
        JsonArray answers =
                reference.ask(Map.of("texts", texts), TIMEOUT_SECONDS).getAsJsonArray("texts");
        try (GgufFile file = GgufFile.open(reference.model())) {
            Tokenizer tokenizer = Tokenizer.of(file.metadata());
            for (int i = 0; i < texts.size(); i++) {
                JsonObject answer = answers.get(i).getAsJsonObject();
                String text = texts.get(i);
                int[] plain = tokenizer.encode(text, false);
                assertThat(plain).as("plain: %s", text).isEqualTo(LlamaCpp.ints(answer.get("plain")));
                assertThat(tokenizer.encode(text, true))
                        .as("with markers: %s", text)
                        .isEqualTo(LlamaCpp.ints(answer.get("special")));
                assertThat(tokenizer.decode(plain)).isEqualTo(text);
            }
        }
    }
}
