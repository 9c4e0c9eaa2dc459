// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import java.util.List;
import java.util.TreeMap;

/**
 * Finds the special tokens in a text. Longer ones are cut out of the whole text before shorter ones are looked for. Control tokens
 * count only outside of untrusted stretches; user-defined ones, which are ordinary words of the vocabulary, count everywhere.
 */
final class SpecialCuts {
    /** A special token at {@code from} inclusive to {@code to} exclusive. */
    record Cut(int from, int to, int id) {}

    private final TreeMap<Integer, Cut> byStart = new TreeMap<>();
    private final int[] untrusted;

    private SpecialCuts(int[] untrusted) {
        this.untrusted = untrusted;
    }

    /** All cuts in order; {@code untrusted} holds starts and ends in rising order. */
    static List<Cut> find(List<Vocabulary.Special> longestFirst, String text, int[] untrusted) {
        SpecialCuts cuts = new SpecialCuts(untrusted);
        boolean noneTrusted = untrusted.length == 2 && untrusted[0] == 0 && untrusted[1] == text.length();
        for (Vocabulary.Special special : longestFirst) {
            if (!special.control() || !noneTrusted) {
                cuts.add(special, text);
            }
        }
        return List.copyOf(cuts.byStart.values());
    }

    private void add(Vocabulary.Special special, String text) {
        int length = special.text().length();
        for (int at = text.indexOf(special.text()); at >= 0; ) {
            boolean taken = isTaken(at, at + length) || (special.control() && touchesUntrusted(at, at + length));
            if (!taken) {
                byStart.put(at, new Cut(at, at + length, special.id()));
            }
            at = text.indexOf(special.text(), taken ? at + 1 : at + length);
        }
    }

    private boolean isTaken(int from, int to) {
        var before = byStart.lowerEntry(to);
        return before != null && before.getValue().to() > from;
    }

    private boolean touchesUntrusted(int from, int to) {
        for (int i = 0; i + 1 < untrusted.length; i += 2) {
            if (untrusted[i] < to && untrusted[i + 1] > from) {
                return true;
            }
        }
        return false;
    }
}
