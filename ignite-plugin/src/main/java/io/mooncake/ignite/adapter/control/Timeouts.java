// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

/** How long a command may take on a node. */
final class Timeouts {
    static final long DEFAULT_MILLIS = 60_000;
    private static final long MAX_MILLIS = 3_600_000;

    private Timeouts() {}

    static long require(long millis) {
        if (millis < 1 || millis > MAX_MILLIS) {
            throw new IllegalArgumentException("--timeout-millis: " + millis + " (expected: 1.." + MAX_MILLIS + ")");
        }
        return millis;
    }
}
