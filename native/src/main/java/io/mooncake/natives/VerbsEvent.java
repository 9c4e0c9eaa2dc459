// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

/**
 * What a device says unasked.
 *
 * @param kind what has happened
 * @param subject number of the port or of the queue pair that it is about, or 0
 */
public record VerbsEvent(Kind kind, int subject) {
    /** Kinds of events; those that ask for the same are one. */
    public enum Kind {
        /** A port carries traffic. */
        PORT_UP,
        /** A port carries no traffic any more; what is outstanding on it will fail. */
        PORT_DOWN,
        /** Addresses or keys of a port are others now. */
        PORT_CHANGED,
        /** A queue pair of either end is broken. */
        QUEUE_PAIR_BROKEN,
        /** The device is lost until it is opened anew. */
        DEVICE_LOST,
        /** Nothing of the above. */
        OTHER
    }

    /** By the number of {@code ibv_event_type}. */
    static VerbsEvent of(int type, int subject) {
        Kind kind =
                switch (type) {
                    case 1, 2, 3, 7 -> Kind.QUEUE_PAIR_BROKEN;
                    case 8 -> Kind.DEVICE_LOST;
                    case 9 -> Kind.PORT_UP;
                    case 10 -> Kind.PORT_DOWN;
                    case 11, 12, 13, 17, 18 -> Kind.PORT_CHANGED;
                    default -> Kind.OTHER;
                };
        return new VerbsEvent(kind, subject);
    }
}
