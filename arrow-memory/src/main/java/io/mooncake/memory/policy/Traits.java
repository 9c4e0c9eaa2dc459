// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** What is known about a request, as one of {@value #LEVELS} levels a factor, four bits each. Level 0 of lengths and gaps: unknown, or none. */
final class Traits {
    static final int FACTORS = 6;
    static final int LEVELS = 8;
    /** Nothing is known. */
    static final long NONE = 0;

    private static final int TURN = 0;
    private static final int NEW_BLOCKS = 1;
    private static final int OUTPUT = 2;
    private static final int GAP = 3;
    private static final int RATIO = 4;
    private static final int BLOCKS = 5;
    private static final int BITS = 4;

    private static final double[] OUTPUT_EDGES = {0, 8, 25, 50, 100, 200, 400};
    private static final double[] GAP_EDGES = {0, 15, 40, 80, 160, 320, 640};
    private static final double[] RATIO_EDGES = {0, 0.002, 0.01, 0.03, 0.1, 0.3, 1};

    /** The factors of which it is plain that what they say depends on how long ago the request was. */
    static final boolean[] FEW_BY_AGE = {true, false, false, true, false, false};

    static final boolean[] ALL_BY_AGE = {true, true, true, true, true, true};

    private Traits() {}

    /**
     * @param turn of the conversation, from 0
     * @param blocks of the prompt
     * @param newBlocks those that were not seen lately
     * @param gapSeconds since the request that it continues, negative when it is a first one
     * @param promptTokens or {@link Request#UNKNOWN}
     * @param outputTokens or {@link Request#UNKNOWN}
     */
    static long of(int turn, int blocks, int newBlocks, double gapSeconds, int promptTokens, int outputTokens) {
        return withOutput(
                put(TURN, Math.min(turn, LEVELS - 1))
                        | put(NEW_BLOCKS, magnitude(newBlocks))
                        | put(GAP, level(gapSeconds, GAP_EDGES))
                        | put(BLOCKS, magnitude(blocks)),
                promptTokens,
                outputTokens);
    }

    /** The same once the length of the answer is known. */
    static long withOutput(long traits, int promptTokens, int outputTokens) {
        double ratio = promptTokens > 0 && outputTokens >= 0 ? (double) outputTokens / promptTokens : Request.UNKNOWN;
        long others = traits & ~(put(OUTPUT, LEVELS - 1) | put(RATIO, LEVELS - 1));
        return others | put(OUTPUT, level(outputTokens, OUTPUT_EDGES)) | put(RATIO, level(ratio, RATIO_EDGES));
    }

    static int level(long traits, int factor) {
        return (int) (traits >>> (BITS * factor)) & (LEVELS - 1);
    }

    private static long put(int factor, int level) {
        return (long) level << (BITS * factor);
    }

    private static int magnitude(int number) {
        return number <= 0 ? 0 : Math.min(LEVELS - 1, 32 - Integer.numberOfLeadingZeros(number));
    }

    /** How many of {@code edges} are at most {@code value}. */
    private static int level(double value, double[] edges) {
        int level = 0;
        while (level < edges.length && value >= edges[level]) {
            level++;
        }
        return level;
    }
}
