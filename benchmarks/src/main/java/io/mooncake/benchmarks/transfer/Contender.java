// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One of those that a line is measured with.
 *
 * @param name in tables and JSON
 * @param role what its figures are for
 * @param client takes the commands
 * @param owner a Java process that tells what it has allocated, or null
 * @param word the operation in the client's own words, or null where it takes no part
 */
record Contender(
        String name,
        Role role,
        ChildProcess client,
        @Nullable ChildProcess owner,
        Function<Cell, @Nullable String> word) {
    private static final long PATIENCE_MILLIS = 60_000;

    /** What the figures of a contender are for. */
    enum Role {
        OURS,
        /** The best of these is the ceiling. */
        CEILING,
        /** To be seen only. */
        NOTE,
        PEER
    }

    /** Runs one round. */
    Measurement measure(Cell cell, String operation, long memoryBytes, long millis) {
        String command = cell.command(operation, memoryBytes, millis);
        if (owner == null) {
            return Measurement.parse(client.ask(command, "result", millis + PATIENCE_MILLIS));
        }
        long before = ownerBytes(owner);
        Measurement measured = Measurement.parse(client.ask(command, "result", millis + PATIENCE_MILLIS));
        // A thread that has ended meanwhile takes its count along.
        return measured.withHeapBytes(measured.heapBytes() + Math.max(0, ownerBytes(owner) - before));
    }

    private static long ownerBytes(ChildProcess owner) {
        return Long.parseLong(
                owner.ask("allocated", "allocated ", PATIENCE_MILLIS).split(" ")[1]);
    }
}
