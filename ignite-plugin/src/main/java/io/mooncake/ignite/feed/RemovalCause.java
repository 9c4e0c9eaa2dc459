// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

/** Why an owner has a block no more. The codes are part of the wire format, three bits. */
public enum RemovalCause {
    /** Not told. */
    UNKNOWN(0),
    /** It left for others. */
    EVICTED(1),
    /** Somebody asked for its removal. */
    REMOVED(2),
    /** The bytes were lost or damaged, or its writing was given up. */
    LOST(3);

    private final int code;

    RemovalCause(int code) {
        this.code = code;
    }

    /** The stable code, 0..7. */
    public int code() {
        return code;
    }

    /** That of {@code code}; UNKNOWN for one that a later version may bring. */
    public static RemovalCause of(int code) {
        for (RemovalCause cause : values()) {
            if (cause.code == code) {
                return cause;
            }
        }
        return UNKNOWN;
    }
}
