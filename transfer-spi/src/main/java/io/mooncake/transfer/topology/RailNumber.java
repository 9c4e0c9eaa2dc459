// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

/** Numbers for the ways to a peer that are measured one by one: TCP rails, RDMA devices, and memory that both ends reach. */
public final class RailNumber {
    /** Rails of one kind at most. */
    public static final int MAX_OF_KIND = 8;

    /** Memory that both ends reach: shared, or of one process. */
    public static final int MEMORY = 2 * MAX_OF_KIND;

    /** How many numbers there are. */
    public static final int COUNT = MEMORY + 1;

    private RailNumber() {}

    /** Of a TCP rail, which counts from 0. */
    public static int ofTcp(int index) {
        return Math.min(index, MAX_OF_KIND - 1);
    }

    /** Of an RDMA device of this engine, which counts from 0. */
    public static int ofRdma(int index) {
        return MAX_OF_KIND + Math.min(index, MAX_OF_KIND - 1);
    }

    /** The first number of the same kind. */
    static int firstOfKind(int rail) {
        return rail / MAX_OF_KIND * MAX_OF_KIND;
    }

    /** For people: {@code tcp 0}, {@code rdma 1}, {@code memory}. */
    public static String name(int rail) {
        if (rail < MAX_OF_KIND) {
            return "tcp " + rail;
        }
        return rail < MEMORY ? "rdma " + (rail - MAX_OF_KIND) : "memory";
    }
}
