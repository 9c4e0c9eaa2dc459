// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import io.mooncake.djl.gguf.GgufMetadata;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * SentencePiece BPE with scores and byte fallback (metadata model {@code llama}): neighbours merge while their joint text is a
 * token, the one with the highest score first.
 *
 * <p>Symbols are token ids; a character that is no token is the vocabulary's size plus its code point, and never merges.
 */
final class SentencePieceModel implements TokenModel {
    private static final String SCORES = "tokenizer.ggml.scores";

    private final Vocabulary vocabulary;
    private final boolean addSpacePrefix;
    /** By id: how many different scores are higher. Equal scores share an order, so that the leftmost pair goes first. */
    private final int[] orders;

    private final int[] byteTokens = new int[256];

    SentencePieceModel(GgufMetadata metadata, Vocabulary vocabulary, boolean addSpacePrefix) {
        this.vocabulary = vocabulary;
        this.addSpacePrefix = addSpacePrefix;
        float[] scores = metadata.findFloats(SCORES).orElse(new float[0]);
        if (scores.length != vocabulary.size()) {
            throw metadata.refused(SCORES, "an array of " + vocabulary.size() + ", one for each token");
        }
        this.orders = orders(scores);
        for (int b = 0; b < 256; b++) {
            byteTokens[b] = byteToken(b);
        }
    }

    private int byteToken(int b) {
        int id = vocabulary.find(String.format("<0x%02X>", b));
        if (id < 0 && b < 0x80) {
            id = vocabulary.find(String.valueOf((char) b));
        }
        return id >= 0 ? id : vocabulary.unknownId();
    }

    private static int[] orders(float[] scores) {
        Integer[] sorted = IntStream.range(0, scores.length)
                .boxed()
                .sorted(Comparator.comparingDouble((Integer id) -> -scores[id]))
                .toArray(Integer[]::new);
        int[] out = new int[scores.length];
        for (int i = 1; i < sorted.length; i++) {
            boolean equal = scores[sorted[i]] == scores[sorted[i - 1]];
            out[sorted[i]] = out[sorted[i - 1]] + (equal ? 0 : 1);
        }
        return out;
    }

    @Override
    public void encode(String text, boolean first, IntList out) {
        String spaced = (addSpacePrefix && first ? " " + text : text).replace(' ', Vocabulary.SPACE_SIGN);
        int[] symbols = spaced.codePoints().map(this::symbol).toArray();
        int count = new Merger(new ScoredPairs()).merge(symbols);
        for (int i = 0; i < count; i++) {
            if (symbols[i] < vocabulary.size()) {
                out.add(symbols[i]);
            } else {
                addBytes(symbols[i] - vocabulary.size(), out);
            }
        }
    }

    private int symbol(int codePoint) {
        int id = vocabulary.find(Character.toString(codePoint));
        return id >= 0 ? id : vocabulary.size() + codePoint;
    }

    private void addBytes(int codePoint, IntList out) {
        for (byte b : Character.toString(codePoint).getBytes(StandardCharsets.UTF_8)) {
            if (byteTokens[b & 0xff] >= 0) {
                out.add(byteTokens[b & 0xff]);
            }
        }
    }

    private final class ScoredPairs implements Merger.Pairs {
        @Override
        public int order(int left, int right) {
            int merged = merged(left, right);
            return merged < 0 ? -1 : orders[merged];
        }

        @Override
        public int merged(int left, int right) {
            boolean tokens = left < vocabulary.size() && right < vocabulary.size();
            return tokens ? vocabulary.find(vocabulary.text(left).concat(vocabulary.text(right))) : -1;
        }
    }
}
