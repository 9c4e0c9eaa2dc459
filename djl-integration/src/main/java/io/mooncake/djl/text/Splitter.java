// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import io.mooncake.djl.gguf.GgufMetadata;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Splits text into words before byte-pair merging, by the regular expressions that belong to a pre-tokenizer's name. Expressions
 * apply one after the other: each splits the pieces of the one before, both at its matches and between them, and sees nothing
 * outside of its piece.
 *
 * <p>Letters, numbers and spaces are those of Unicode as this JDK knows it.
 *
 * @param name as in the metadata
 * @param patterns applied in this order
 */
record Splitter(String name, List<Pattern> patterns) {
    private static final String KEY = "tokenizer.ggml.pre";
    private static final String GPT2 =
            "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    private static final String NUMBERS = "\\p{N}";
    private static final String LLAMA3 =
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                    + "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

    private static final Map<String, List<String>> BY_NAME = Map.ofEntries(
            Map.entry("smollm", List.of(NUMBERS, GPT2)),
            Map.entry("starcoder", List.of(NUMBERS, GPT2)),
            Map.entry("refact", List.of(NUMBERS, GPT2)),
            Map.entry("command-r", List.of(NUMBERS, GPT2)),
            Map.entry("gpt-2", List.of(GPT2)),
            Map.entry("phi-2", List.of(GPT2)),
            Map.entry("olmo", List.of(GPT2)),
            Map.entry("mpt", List.of(GPT2)),
            Map.entry("llama-bpe", List.of(LLAMA3)),
            Map.entry("llama3", List.of(LLAMA3)),
            Map.entry("llama-v3", List.of(LLAMA3)),
            Map.entry("smaug-bpe", List.of(LLAMA3)),
            Map.entry("qwen2", List.of(LLAMA3.replace("{1,3}", ""))),
            Map.entry("default", List.of("[\\p{P}\\$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]")));

    /** The splitter that the metadata names, or the default one where it names none. */
    static Splitter of(GgufMetadata metadata) {
        String name = metadata.findString(KEY).orElse("default");
        List<String> expressions = BY_NAME.get(name);
        if (expressions == null) {
            throw metadata.refused(
                    KEY, "one of " + BY_NAME.keySet().stream().sorted().toList());
        }
        return new Splitter(
                name,
                expressions.stream()
                        .map(expression -> Pattern.compile(
                                expression.replace("\\s", "\\p{IsWhite_Space}").replace("\\S", "\\P{IsWhite_Space}")))
                        .toList());
    }

    /** Whether a word that is a token as a whole stays so, whatever the merges say. */
    boolean keepsWholeWords() {
        return patterns.size() == 1 && name.startsWith("llama");
    }

    /** Whether prompts of this kind start with the BOS where the metadata does not say. */
    boolean addsBos() {
        return keepsWholeWords();
    }

    /** Hands out all words of the text in order. */
    void split(String text, Consumer<String> words) {
        split(text, 0, text.length(), 0, words);
    }

    private void split(String text, int from, int to, int pattern, Consumer<String> words) {
        if (from == to) {
            return;
        }
        if (pattern == patterns.size()) {
            words.accept(text.substring(from, to));
            return;
        }
        Matcher matcher = patterns.get(pattern).matcher(text).region(from, to);
        int done = from;
        while (matcher.find()) {
            split(text, done, matcher.start(), pattern + 1, words);
            split(text, matcher.start(), matcher.end(), pattern + 1, words);
            done = matcher.end();
        }
        split(text, done, to, pattern + 1, words);
    }

    /** The words as a list; for tests. */
    List<String> words(String text) {
        List<String> out = new ArrayList<>();
        split(text, out::add);
        return out;
    }
}
