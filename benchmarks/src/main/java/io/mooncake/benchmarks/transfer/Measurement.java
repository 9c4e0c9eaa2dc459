// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Refusal;

/**
 * What a client measured in one round.
 *
 * @param calls of the engine
 * @param nanos from the first to the end of the last one
 * @param medianNanos of a call
 * @param p99Nanos of a call
 * @param heapBytes allocated on the Java heap by all threads of owner and client; -1 where there is none
 */
record Measurement(long calls, long nanos, long medianNanos, long p99Nanos, long heapBytes) {
    /** Parses {@code result CALLS NANOS MEDIAN P99 [HEAP]}. */
    static Measurement parse(String line) {
        String[] words = line.split(" ");
        if (words.length < 5 || !words[0].equals("result")) {
            throw new Refusal("answer of a client: " + line + " (expected: result CALLS NANOS MEDIAN P99)");
        }
        return new Measurement(
                Long.parseLong(words[1]),
                Long.parseLong(words[2]),
                Long.parseLong(words[3]),
                Long.parseLong(words[4]),
                words.length > 5 ? Long.parseLong(words[5]) : -1);
    }

    /** Bytes moved a nanosecond, which is 10^9 bytes a second. */
    double gigabytesPerSecond(Cell cell) {
        return (double) calls * cell.batch() * cell.size() / nanos;
    }

    Measurement withHeapBytes(long bytes) {
        return new Measurement(calls, nanos, medianNanos, p99Nanos, bytes);
    }
}
