// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.memory.RemovalCause;

/** Why an owner has a block no more. The codes are part of the wire format, three bits. */
public enum RemovalCode {
    /** Not told. */
    UNKNOWN(0),
    /** It left for others, be it within its tenant's quota. */
    EVICTED(1),
    /** Somebody asked for its removal. */
    REMOVED(2),
    /** The bytes were lost or damaged, or its writing was given up. */
    LOST(3);

    private final int code;

    RemovalCode(int code) {
        this.code = code;
    }

    /** The stable code, 0..7. */
    public int code() {
        return code;
    }

    static RemovalCode of(RemovalCause cause) {
        return switch (cause) {
            case EVICTED, QUOTA -> EVICTED;
            case REMOVED -> REMOVED;
            case LOST -> LOST;
        };
    }

    /** That of {@code code}; UNKNOWN for one that a later version may bring. */
    public static RemovalCode of(int code) {
        for (RemovalCode cause : values()) {
            if (cause.code == code) {
                return cause;
            }
        }
        return UNKNOWN;
    }
}
