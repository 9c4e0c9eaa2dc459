// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

/**
 * One line of the benchmark: {@code batch} ranges of {@code size} bytes a call.
 *
 * @param transport tcp, shm or rdma
 * @param operation what a call does
 * @param size bytes of a range
 * @param batch ranges of a call
 */
record Cell(String transport, Operation operation, long size, int batch) {
    /** Small ranges lie this far apart. */
    private static final long LEAST_STRIDE = 64L << 10;

    private static final long LATENCY_BYTES = 64;
    /** As many ranges as two leases hold. */
    private static final long MOST_SPOTS = 8_192;

    /** Bytes from one range to the next. */
    long stride() {
        return Math.max(size, LEAST_STRIDE);
    }

    /**
     * Ranges that calls take in turn, in memory of {@code bytes}. The smallest call asks how long the way takes, not the memory at its end: one
     * range again and again.
     */
    long spots(long bytes) {
        return size <= LATENCY_BYTES && batch == 1 ? 1 : Math.min(bytes / stride(), MOST_SPOTS);
    }

    /** Bytes of memory that calls touch in turn, on each side. */
    long touchedBytes(long bytes) {
        return spots(bytes) * size;
    }

    String name() {
        return transport + " " + operation.text() + " " + sizeText() + (batch > 1 ? " x" + batch : "");
    }

    String sizeText() {
        return size >= 1 << 20 ? (size >> 20) + " MiB" : size >= 1 << 10 ? (size >> 10) + " KiB" : size + " B";
    }

    /** The command that a client takes; {@code word} names the operation there. */
    String command(String word, long memoryBytes, long millis) {
        return "measure " + word + " " + size + " " + batch + " " + spots(memoryBytes) + " " + stride() + " " + millis;
    }
}
