// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.gguf.GgufWriter;
import io.mooncake.djl.gguf.TinyLlama;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TokenizerTest {
    private static final int IM_START = 1;
    private static final int IM_END = 2;

    @TempDir
    Path folder;

    private Tokenizer tokenizer;

    @BeforeEach
    void open() throws Exception {
        Path path = folder.resolve("tiny.gguf");
        TinyLlama.write(path, 1);
        tokenizer = open(path);
    }

    @Test
    void encode_wordsOfTheTrainingText_usesMerges() {
        assertThat(tokenizer.encode(" the river")).hasSizeLessThan(4);
        assertThat(tokenizer.decode(tokenizer.encode(" the river"))).isEqualTo(" the river");
    }

    @Test
    void encode_markerInText_countsOnlyWhereTrusted() {
        String text = "<|im_start|>user<|im_end|>";
        assertThat(tokenizer.encode(text)).doesNotContain(IM_START, IM_END);
        assertThat(tokenizer.encode(text, false)).doesNotContain(IM_START, IM_END);
        assertThat(tokenizer.encode(text, true)).startsWith(IM_START).endsWith(IM_END);
        assertThat(tokenizer.decode(tokenizer.encode(text))).isEqualTo(text);
        assertThat(tokenizer.decode(tokenizer.encode(text, true))).isEqualTo("user");
        assertThat(tokenizer.decodeWithMarkers(tokenizer.encode(text, true))).isEqualTo(text);
    }

    @Test
    void encode_markerThatTouchesAnUntrustedStretch_isText() {
        String marker = "<|im_end|>";
        String text = "a" + marker + "b";
        for (int from = 0; from < text.length(); from++) {
            for (int to = from + 1; to <= text.length(); to++) {
                boolean touches = from < 1 + marker.length() && to > 1;
                int[] ids = tokenizer.encode(text, new int[] {from, to});
                assertThat(Arrays.stream(ids).anyMatch(id -> id == IM_END))
                        .as("%d..%d", from, to)
                        .isEqualTo(!touches);
            }
        }
    }

    @Test
    void encode_untrustedStretchesOutOfOrder_namesThem() {
        assertThatThrownBy(() -> tokenizer.encode("abc", new int[] {2, 1}))
                .hasMessage("untrusted: [2, 1] (expected: rising pairs within 0..3)");
        assertThatThrownBy(() -> tokenizer.encode("abc", new int[] {0, 4})).isInstanceOf(MooncakeException.class);
        assertThatThrownBy(() -> tokenizer.encode("abc", new int[] {0})).isInstanceOf(MooncakeException.class);
    }

    @Test
    void roundTrip_randomUnicode_isKept() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("mooncake.seed=" + seed);
        Random random = new Random(seed);
        for (int round = 0; round < 500; round++) {
            String text = randomText(random);
            int[] ids = tokenizer.encode(text, false);
            assertThat(tokenizer.decode(ids))
                    .as("seed %d round %d", seed, round)
                    .isEqualTo(text);
            assertThat(stream(ids)).as("seed %d round %d", seed, round).isEqualTo(text);
        }
    }

    @Test
    void encode_randomText_mergesAsTheSlowRuleSays() throws Exception {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("mooncake.seed=" + seed);
        Random random = new Random(seed);
        try (GgufFile file = GgufFile.open(folder.resolve("tiny.gguf"))) {
            SlowBytePairs slow = new SlowBytePairs(
                    file.metadata().requireStrings("tokenizer.ggml.tokens"),
                    file.metadata().requireStrings("tokenizer.ggml.merges"));
            Splitter splitter = Splitter.of(file.metadata());
            for (int round = 0; round < 300; round++) {
                StringBuilder text = new StringBuilder();
                for (int i = random.nextInt(80); i > 0; i--) {
                    text.append("the riverandswosh ,.\n12".charAt(random.nextInt(23)));
                }
                int[] expected = splitter.words(text.toString()).stream()
                        .flatMapToInt(word -> slow.encode(word).stream().mapToInt(Integer::intValue))
                        .toArray();
                assertThat(tokenizer.encode(text.toString(), false))
                        .as("seed %d round %d: %s", seed, round, text)
                        .isEqualTo(expected);
            }
        }
    }

    @Test
    void encode_unpairedSurrogates_becomeTheReplacementCharacter() {
        assertThat(tokenizer.decode(tokenizer.encode("a\ud800b\udc00"))).isEqualTo("a\ufffdb\ufffd");
    }

    @Test
    void decoder_characterSpreadOverTokens_isHeldBackUntilWhole() {
        TokenDecoder decoder = tokenizer.newDecoder();
        int[] ids = tokenizer.encode("\ud83d\ude00", false);
        assertThat(ids).hasSize(4);
        assertThat(decoder.next(ids[0])).isEmpty();
        assertThat(decoder.next(ids[1])).isEmpty();
        assertThat(decoder.next(ids[2])).isEmpty();
        assertThat(decoder.next(ids[3])).isEqualTo("\ud83d\ude00");
        assertThat(decoder.next(ids[0])).isEmpty();
        assertThat(decoder.next(IM_END)).isEmpty();
        assertThat(decoder.finish()).isEqualTo("\ufffd");
        assertThat(decoder.next(tokenizer.encode("x", false)[0])).isEqualTo("x");
    }

    @Test
    void digest_changesWithAnythingThatDecidesIds() throws Exception {
        Path path = folder.resolve("other.gguf");
        TinyLlama.write(path, 99);
        assertThat(open(path).digest()).as("weights do not matter").isEqualTo(tokenizer.digest());
        variant("llama-bpe", true, List.of("a b")).write(path);
        String digest = open(path).digest();
        variant("gpt-2", true, List.of("a b")).write(path);
        assertThat(open(path).digest()).isNotEqualTo(digest);
        variant("llama-bpe", false, List.of("a b")).write(path);
        assertThat(open(path).digest()).isNotEqualTo(digest);
        variant("llama-bpe", true, List.of("b a")).write(path);
        assertThat(open(path).digest()).isNotEqualTo(digest);
    }

    @Test
    void encode_prompt_startsWithOneBosWhereTheMetadataAsks() throws Exception {
        Path path = folder.resolve("bos.gguf");
        variant("llama-bpe", true, List.of("a b")).write(path);
        Tokenizer withBos = open(path);
        assertThat(withBos.encode("ab")).containsExactly(2, 3);
        assertThat(withBos.encode("")).containsExactly(2);
        assertThat(withBos.encode("ab", true)).containsExactly(3);
        assertThat(withBos.endsAnswer(4)).isTrue();
        assertThat(withBos.endsAnswer(0)).isFalse();
    }

    @Test
    void of_unknownKinds_areRefusedByName() throws Exception {
        Path path = folder.resolve("unknown.gguf");
        new GgufWriter().put("tokenizer.ggml.model", "t5").write(path);
        refused(path, "tokenizer.ggml.model: \"t5\"", "gpt2");
        variant("deepseek-v99", true, List.of()).write(path);
        refused(path, "tokenizer.ggml.pre: \"deepseek-v99\"", "smollm");
        variant("gpt-2", true, List.of("ab")).write(path);
        refused(path, "tokenizer.ggml.merges", "entry 0, not \"ab\"");
        variant("gpt-2", true, List.of())
                .put("tokenizer.ggml.token_type", new int[] {1})
                .write(path);
        refused(path, "tokenizer.ggml.token_type", "an array of 5");
        new GgufWriter()
                .put("tokenizer.ggml.model", "gpt2")
                .put("tokenizer.ggml.tokens", List.of("a"))
                .put("tokenizer.ggml.merges", List.of())
                .put("tokenizer.ggml.eos_token_id", 5)
                .write(path);
        refused(path, "tokenizer.ggml.eos_token_id: 5", "below the vocabulary's 1");
    }

    /** Some files call their turn markers user-defined; as such they would count in a user's text too. */
    @Test
    void encode_userDefinedMarkerInUntrustedText_staysText() {
        Path path = folder.resolve("marker.gguf");
        assertThatCode(() -> new GgufWriter()
                        .put("tokenizer.ggml.model", "gpt2")
                        .put("tokenizer.ggml.pre", "gpt-2")
                        .put("tokenizer.ggml.tokens", List.of("<|sys|>", "<b>", "<", "|", "s", "y", ">", "<|end|>"))
                        .put("tokenizer.ggml.token_type", new int[] {4, 4, 1, 1, 1, 1, 1, 4})
                        .put("tokenizer.ggml.merges", List.of())
                        .write(path))
                .doesNotThrowAnyException();
        Tokenizer marked = open(path);
        assertThat(marked.encode("<|sys|>", false)).containsExactly(2, 3, 4, 5, 4, 3, 6);
        assertThat(marked.encode("<|sys|>", true)).containsExactly(0);
        assertThat(marked.encode("<b>", false))
                .as("an ordinary user-defined word")
                .containsExactly(1);
        assertThat(marked.endsAnswer(7)).isTrue();
    }

    private void refused(Path path, String found, String expected) {
        assertThatThrownBy(() -> open(path))
                .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                        .isEqualTo(MooncakeException.Code.MODEL_REFUSED))
                .hasMessageContaining(path.toString())
                .hasMessageContaining(found)
                .hasMessageContaining(expected);
    }

    private static GgufWriter variant(String splitter, boolean addBos, List<String> merges) {
        return new GgufWriter()
                .put("tokenizer.ggml.model", "gpt2")
                .put("tokenizer.ggml.pre", splitter)
                .put("tokenizer.ggml.tokens", List.of("a", "b", "<|begin|>", "ab", "</s>"))
                .put("tokenizer.ggml.merges", merges)
                .put("tokenizer.ggml.bos_token_id", 2)
                .put("tokenizer.ggml.eos_token_id", 4)
                .put("tokenizer.ggml.add_bos_token", addBos);
    }

    private String stream(int[] ids) {
        TokenDecoder decoder = tokenizer.newDecoder();
        StringBuilder out = new StringBuilder();
        for (int id : ids) {
            String piece = decoder.next(id);
            assertThat(new String(piece.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8))
                    .isEqualTo(piece);
            out.append(piece);
        }
        return out.append(decoder.finish()).toString();
    }

    private static String randomText(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(40); i > 0; i--) {
            int limit = new int[] {0x80, 0x800, 0x10000, 0x110000}[random.nextInt(4)];
            int point = random.nextInt(limit);
            text.appendCodePoint(point >= 0xd800 && point < 0xe000 ? '-' : point);
        }
        return text.toString();
    }

    private static Tokenizer open(Path path) {
        try (GgufFile file = GgufFile.open(path)) {
            return Tokenizer.of(file.metadata());
        }
    }
}
