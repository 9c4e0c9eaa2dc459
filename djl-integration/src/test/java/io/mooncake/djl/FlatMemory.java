// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Holds that a process's memory outside of files stays flat. The Java heap is a part of it and grows for a while, so there are several
 * windows, and one without growth is enough: a leak shows in all of them.
 */
public final class FlatMemory {
    private static final int WINDOWS = 5;
    private static final long BOUND_BYTES = 16L << 20;

    private FlatMemory() {}

    /** @param rounds of a window; what a round could leak, times this, is to be well above 16 MiB */
    public static void hold(int rounds, Runnable round) {
        List<Long> growth = new ArrayList<>();
        long before = anonymousBytes();
        for (int window = 0; window < WINDOWS; window++) {
            for (int i = 0; i < rounds; i++) {
                round.run();
            }
            long after = anonymousBytes();
            growth.add(after - before);
            before = after;
            if (growth.get(window) < BOUND_BYTES && window > 0) {
                return;
            }
        }
        assertThat(growth).as("bytes a window of %d rounds", rounds).anyMatch(bytes -> bytes < BOUND_BYTES);
    }

    private static long anonymousBytes() {
        System.gc();
        try {
            String line = Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(text -> text.startsWith("RssAnon"))
                    .findFirst()
                    .orElseThrow();
            return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
