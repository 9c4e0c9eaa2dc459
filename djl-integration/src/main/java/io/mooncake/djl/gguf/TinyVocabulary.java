// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The vocabulary of {@link TinyLlama}: three markers, the 256 bytes, and merges trained on a short text, padded to 512 entries.
 */
record TinyVocabulary(List<String> tokens, List<String> merges) {
    static final int SIZE = 512;
    private static final List<String> MARKERS = List.of("<|endoftext|>", "<|im_start|>", "<|im_end|>");
    private static final int TYPE_NORMAL = 1;
    private static final int TYPE_CONTROL = 3;
    private static final int TYPE_UNUSED = 5;

    private static final String TEXT = """
            Once upon a time there was a small house by the river, and in the house lived an old woman with three cats. Every
            morning she went down to the water, filled her two jugs, and told the fish what the cats had done in the night. The
            fish listened, as fish do, and said nothing. One day a stranger came over the bridge and asked for the way to the
            town. You are a helpful assistant; the user asks a question and the assistant answers it. The system keeps what it
            has computed before, so that the same words need not be read again: this is what a cache is for. If nothing is
            found, everything is computed from the beginning, and the answer must be the same in every case. There were those
            who thought that it would take longer than they had, but when they counted the hours there was still enough time
            left for another story about the river, the bridge and the stranger who never found the town.
            """;

    /** Trains the vocabulary; the outcome is always the same. */
    static TinyVocabulary build() {
        List<String> tokens = new ArrayList<>(MARKERS);
        for (int b = 0; b < 256; b++) {
            tokens.add(String.valueOf(ByteLevel.toChar(b)));
        }
        List<String> merges = new ArrayList<>();
        Map<List<String>, Integer> words = words();
        while (tokens.size() < SIZE) {
            String merge = mostFrequentPair(words);
            if (merge.isEmpty()) {
                break;
            }
            merges.add(merge);
            tokens.add(merge.replace(" ", ""));
            words = apply(words, merge);
        }
        return new TinyVocabulary(tokens, merges);
    }

    void put(GgufWriter out) {
        List<String> padded = new ArrayList<>(tokens);
        int[] types = new int[SIZE];
        for (int i = 0; i < SIZE; i++) {
            types[i] = i < MARKERS.size() ? TYPE_CONTROL : i < tokens.size() ? TYPE_NORMAL : TYPE_UNUSED;
            if (i >= tokens.size()) {
                padded.add("[unused" + i + "]");
            }
        }
        out.put("tokenizer.ggml.model", "gpt2")
                .put("tokenizer.ggml.pre", "smollm")
                .put("tokenizer.ggml.tokens", padded)
                .put("tokenizer.ggml.token_type", types)
                .put("tokenizer.ggml.merges", merges)
                .put("tokenizer.ggml.bos_token_id", 1)
                .put("tokenizer.ggml.eos_token_id", 2)
                .put("tokenizer.ggml.add_bos_token", false)
                .put("tokenizer.ggml.add_space_prefix", false);
    }

    private static Map<List<String>, Integer> words() {
        Map<List<String>, Integer> words = new HashMap<>();
        for (String word : TEXT.split("(?=[ \n.,:;])")) {
            List<String> symbols = new ArrayList<>();
            for (byte b : word.getBytes(StandardCharsets.UTF_8)) {
                symbols.add(String.valueOf(ByteLevel.toChar(b & 0xff)));
            }
            words.merge(symbols, 1, Integer::sum);
        }
        return words;
    }

    /** The pair that occurs most, as "left right"; the first in order among equals; empty where none is left. */
    private static String mostFrequentPair(Map<List<String>, Integer> words) {
        Map<String, Integer> pairs = new TreeMap<>();
        words.forEach((symbols, count) -> {
            for (int i = 1; i < symbols.size(); i++) {
                pairs.merge(symbols.get(i - 1) + " " + symbols.get(i), count, Integer::sum);
            }
        });
        String best = "";
        int bestCount = 0;
        for (Map.Entry<String, Integer> pair : pairs.entrySet()) {
            if (pair.getValue() > bestCount) {
                best = pair.getKey();
                bestCount = pair.getValue();
            }
        }
        return best;
    }

    private static Map<List<String>, Integer> apply(Map<List<String>, Integer> words, String merge) {
        List<String> pair = Arrays.asList(merge.split(" "));
        Map<List<String>, Integer> merged = new HashMap<>();
        words.forEach((symbols, count) -> {
            List<String> out = new ArrayList<>();
            for (int i = 0; i < symbols.size(); i++) {
                if (i + 1 < symbols.size() && symbols.subList(i, i + 2).equals(pair)) {
                    out.add(symbols.get(i) + symbols.get(++i));
                } else {
                    out.add(symbols.get(i));
                }
            }
            merged.merge(out, count, Integer::sum);
        });
        return merged;
    }
}
