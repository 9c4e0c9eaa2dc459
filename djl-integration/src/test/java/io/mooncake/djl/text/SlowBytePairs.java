// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import io.mooncake.djl.gguf.ByteLevel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Byte-pair encoding as its definition reads: apply the lowest merge there is, the leftmost first, until there is none. */
record SlowBytePairs(List<String> tokens, List<String> merges) {
    List<Integer> encode(String word) {
        List<String> symbols = new ArrayList<>();
        for (byte b : word.getBytes(StandardCharsets.UTF_8)) {
            symbols.add(String.valueOf(ByteLevel.toChar(b & 0xff)));
        }
        for (int best = best(symbols); best >= 0; best = best(symbols)) {
            symbols.set(best, symbols.get(best) + symbols.remove(best + 1));
        }
        return symbols.stream().map(tokens::indexOf).toList();
    }

    private int best(List<String> symbols) {
        int best = -1;
        int lowest = Integer.MAX_VALUE;
        for (int i = 0; i + 1 < symbols.size(); i++) {
            int rank = merges.indexOf(symbols.get(i) + " " + symbols.get(i + 1));
            if (rank >= 0 && rank < lowest) {
                lowest = rank;
                best = i;
            }
        }
        return best;
    }
}
