// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

/** One way to find the longest cached prefix. Serves one thread, unless it says otherwise. */
interface Contender {
    /** Name in the report. */
    String name();

    /** Adds a prompt's whole blocks; {@code ids}, one a block, of those that are new. */
    void insert(int[] tokens, long[] ids);

    /** Tokens found of {@code tokens}, their last use noted, the ids of their blocks kept inside. */
    int match(int[] tokens);

    /** Bytes of its arrays, or -1 when they are not counted by itself. */
    long memoryBytes();

    /** The most that {@link #match} finds: to the token, or whole blocks only. */
    boolean toTheToken();
}
