// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import io.mooncake.djl.gguf.ByteLevel;
import io.mooncake.djl.gguf.GgufMetadata;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Byte-level BPE with ranked merges (metadata model {@code gpt2}). Words are merged once and remembered, up to a bound, since text
 * repeats its words.
 *
 * <p>Symbols are numbers of their own: a merge may name an intermediate that is no token.
 */
final class BytePairModel implements TokenModel {
    private static final String MERGES = "tokenizer.ggml.merges";
    private static final int MAX_REMEMBERED = 1 << 16;
    private static final int LONGEST_REMEMBERED = 32;

    private final Vocabulary vocabulary;
    private final Splitter splitter;
    private final int[] byteSymbols = new int[256];
    private final int[] mergedSymbols;
    private final String[] symbolTexts;
    private final int[] symbolTokens;
    private final PairTable ranks;
    private final Map<String, int[]> remembered = new ConcurrentHashMap<>();

    BytePairModel(GgufMetadata metadata, Vocabulary vocabulary, Splitter splitter) {
        this.vocabulary = vocabulary;
        this.splitter = splitter;
        List<String> merges = metadata.requireStrings(MERGES);
        Map<String, Integer> symbols = new HashMap<>();
        for (int b = 0; b < 256; b++) {
            byteSymbols[b] = symbol(symbols, String.valueOf(ByteLevel.toChar(b)));
        }
        ranks = new PairTable(merges.size());
        mergedSymbols = new int[merges.size()];
        for (int rank = 0; rank < merges.size(); rank++) {
            String merge = merges.get(rank);
            int space = merge.indexOf(' ', 1);
            if (space < 0 || space == merge.length() - 1) {
                throw metadata.refused(MERGES, "two symbols and a space in entry " + rank + ", not \"" + merge + "\"");
            }
            String left = merge.substring(0, space);
            String right = merge.substring(space + 1);
            ranks.putIfAbsent(symbol(symbols, left), symbol(symbols, right), rank);
            mergedSymbols[rank] = symbol(symbols, left + right);
        }
        symbolTexts = new String[symbols.size()];
        symbolTokens = new int[symbols.size()];
        symbols.forEach((text, symbol) -> {
            symbolTexts[symbol] = text;
            symbolTokens[symbol] = vocabulary.find(text);
        });
    }

    private static int symbol(Map<String, Integer> symbols, String text) {
        Integer known = symbols.putIfAbsent(text, symbols.size());
        return known == null ? symbols.size() - 1 : known;
    }

    @Override
    public void encode(String text, boolean first, IntList out) {
        Merger merger = new Merger(new RankedPairs());
        splitter.split(text, word -> out.addAll(word(word, merger)));
    }

    private int[] word(String word, Merger merger) {
        int[] known = remembered.get(word);
        if (known != null) {
            return known;
        }
        int[] ids = merge(word, merger);
        if (word.length() <= LONGEST_REMEMBERED && remembered.size() < MAX_REMEMBERED) {
            remembered.put(word, ids);
        }
        return ids;
    }

    private int[] merge(String word, Merger merger) {
        byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
        if (splitter.keepsWholeWords()) {
            int whole = vocabulary.find(byteLevelText(bytes));
            if (whole >= 0) {
                return new int[] {whole};
            }
        }
        int[] symbols = new int[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            symbols[i] = byteSymbols[bytes[i] & 0xff];
        }
        int count = merger.merge(symbols);
        IntList ids = new IntList();
        for (int i = 0; i < count; i++) {
            addToken(symbols[i], ids);
        }
        return ids.toArray();
    }

    /** A symbol that is no token falls apart into its bytes; a byte that is none is unknown, or dropped where nothing says unknown. */
    private void addToken(int symbol, IntList ids) {
        if (symbolTokens[symbol] >= 0) {
            ids.add(symbolTokens[symbol]);
            return;
        }
        String text = symbolTexts[symbol];
        for (int i = 0; i < text.length(); i++) {
            int id = vocabulary.find(text.substring(i, i + 1));
            if (id >= 0) {
                ids.add(id);
            } else if (vocabulary.unknownId() >= 0) {
                ids.add(vocabulary.unknownId());
            }
        }
    }

    private static String byteLevelText(byte[] bytes) {
        StringBuilder out = new StringBuilder(bytes.length);
        for (byte b : bytes) {
            out.append(ByteLevel.toChar(b & 0xff));
        }
        return out.toString();
    }

    private final class RankedPairs implements Merger.Pairs {
        @Override
        public int order(int left, int right) {
            return ranks.find(left, right);
        }

        @Override
        public int merged(int left, int right) {
            return mergedSymbols[ranks.find(left, right)];
        }
    }
}
