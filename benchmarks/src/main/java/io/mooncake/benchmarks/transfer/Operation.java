// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

/** What one call of an engine does. */
enum Operation {
    READ("read"),
    WRITE("write"),
    /** A read under a lease that is held, each copy compared with its checksums. */
    LEASED_READ("leased-read"),
    /** The same by an engine that does not compare checksums. */
    LEASED_READ_UNCHECKED("leased-read-unchecked");

    private final String text;

    Operation(String text) {
        this.text = text;
    }

    /** The name in commands, tables and JSON. */
    String text() {
        return text;
    }

    boolean leased() {
        return this == LEASED_READ || this == LEASED_READ_UNCHECKED;
    }

    static Operation parse(String text) {
        for (Operation one : values()) {
            if (one.text.equals(text)) {
                return one;
            }
        }
        throw new IllegalArgumentException("operation: " + text);
    }
}
