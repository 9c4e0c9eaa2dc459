// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/**
 * How often a block was used lately, about: a count-min sketch of four rows of 4-bit counters, halved after every {@value #SAMPLES} uses a slot
 * (TinyLFU, Einziger et al., ACM TOS 2017). One thread at a time.
 */
final class FrequencySketch {
    private static final int SAMPLES = 10;
    private static final int ROWS = 4;
    private static final long HALVES = 0x7777_7777_7777_7777L;

    /** 16 counters a word. */
    private final long[] words;

    private final int mask;
    private final int samples;
    private int seen;

    FrequencySketch(int slots) {
        int counters = Integer.highestOneBit(Math.max(slots, 16) * 2 - 1) * ROWS;
        words = new long[counters / 16];
        mask = counters - 1;
        samples = SAMPLES * Math.max(slots, 16);
    }

    private int counter(long mixed, int row) {
        long bits = (mixed + row) * 0xBF58476D1CE4E5B9L;
        return (int) (bits >>> 33) & mask;
    }

    void increment(long block) {
        long mixed = BlockMap.mix(block);
        boolean added = false;
        for (int row = 0; row < ROWS; row++) {
            int at = counter(mixed, row);
            int shift = (at & 15) << 2;
            if ((words[at >>> 4] >>> shift & 15) < 15) {
                words[at >>> 4] += 1L << shift;
                added = true;
            }
        }
        if (added && ++seen == samples) {
            for (int i = 0; i < words.length; i++) {
                words[i] = words[i] >>> 1 & HALVES;
            }
            seen >>>= 1;
        }
    }

    int frequency(long block) {
        long mixed = BlockMap.mix(block);
        int least = 15;
        for (int row = 0; row < ROWS; row++) {
            int at = counter(mixed, row);
            least = Math.min(least, (int) (words[at >>> 4] >>> ((at & 15) << 2) & 15));
        }
        return least;
    }
}
