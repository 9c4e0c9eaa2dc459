// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** Finds the name a person meant. */
public final class NearestName {
    private NearestName() {}

    /**
     * The candidate with the fewest edits from {@code typed}, letter case ignored; empty when all are too far to be a typing error (more
     * than half of the letters differ).
     */
    public static Optional<String> of(String typed, Collection<String> candidates) {
        String wanted = typed.toLowerCase(Locale.ROOT);
        return candidates.stream()
                .min(Comparator.comparingInt((String name) -> distance(wanted, name.toLowerCase(Locale.ROOT)))
                        .thenComparing(Comparator.naturalOrder()))
                .filter(name -> 2 * distance(wanted, name.toLowerCase(Locale.ROOT))
                        <= Math.max(wanted.length(), name.length()));
    }

    /** Edits (insert, delete, replace, swap of neighbours) that turn {@code a} into {@code b}. */
    static int distance(String a, String b) {
        int[][] d = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                d[i][j] = i == 0 ? j : j == 0 ? i : edits(d, a, b, i, j);
            }
        }
        return d[a.length()][b.length()];
    }

    private static int edits(int[][] d, String a, String b, int i, int j) {
        int replace = d[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        int best = Math.min(replace, 1 + Math.min(d[i - 1][j], d[i][j - 1]));
        boolean swapped = i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1);
        return swapped ? Math.min(best, d[i - 2][j - 2] + 1) : best;
    }
}
