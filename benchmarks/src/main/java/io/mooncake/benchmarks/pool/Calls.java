// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

/** One product as the benchmark calls it, with values of one size. A pass works on values {@code 0..count-1}, new ones each time. */
interface Calls {
    /** Chooses new keys for {@code count} values. */
    void begin(int count) throws Exception;

    /** Stores values {@code first..first+batch-1}. */
    void put(int first, int batch) throws Exception;

    /** Puts all values where they are to be taken from; not measured. */
    void fill() throws Exception;

    /** Takes values {@code first..first+batch-1}. */
    void get(int first, int batch) throws Exception;

    /** Asks whether they are there. */
    void exists(int first, int batch) throws Exception;

    /** Removes everything again; not measured. */
    void clear() throws Exception;
}
