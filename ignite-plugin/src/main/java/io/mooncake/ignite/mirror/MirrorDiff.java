// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What this node believes to have in the cache, against what it wants there. A row whose write has not been confirmed is remembered as
 * unknown: it is written again while it is wanted and removed once it is not, so that no failure leaves an orphan.
 *
 * <p>Threading: one thread at a time.
 */
final class MirrorDiff {
    // null: unknown, possibly in the cache with some content.
    private final Map<String, @Nullable PrefixRow> written = new HashMap<>();
    private final Random random = new Random();

    /** Rows to be written so that the cache shows {@code wanted}. */
    Map<String, PrefixRow> toWrite(Map<String, PrefixRow> wanted) {
        Map<String, PrefixRow> changed = new HashMap<>();
        wanted.forEach((key, row) -> {
            if (!row.equals(written.get(key))) {
                changed.put(key, row);
            }
        });
        return changed;
    }

    /** Keys to be removed so that the cache shows {@code wanted}. */
    List<String> toRemove(Map<String, PrefixRow> wanted) {
        List<String> gone = new ArrayList<>();
        for (String key : written.keySet()) {
            if (!wanted.containsKey(key)) {
                gone.add(key);
            }
        }
        return gone;
    }

    /** {@code keys} are about to be written. */
    void writing(Iterable<String> keys) {
        keys.forEach(key -> written.put(key, null));
    }

    /** The cache confirmed {@code rows}. */
    void wrote(Map<String, PrefixRow> rows) {
        written.putAll(rows);
    }

    /** The cache confirmed the removal of {@code keys}. */
    void removed(Iterable<String> keys) {
        keys.forEach(written::remove);
    }

    /** The cache may have lost anything: write all again. */
    void distrust() {
        written.replaceAll((key, row) -> null);
    }

    /** Up to {@code most} keys, other ones each time, that the cache confirmed. */
    Set<String> sample(int most) {
        int from = written.size() <= most ? 0 : random.nextInt(written.size() - most + 1);
        Set<String> keys = new TreeSet<>();
        written.entrySet().stream()
                .skip(from)
                .limit(most)
                .filter(entry -> entry.getValue() != null)
                .forEach(entry -> keys.add(entry.getKey()));
        return keys;
    }

    /** Rows that may be in the cache. */
    int rows() {
        return written.size();
    }
}
