// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

/**
 * What an {@link SsdStore} does at the moment.
 *
 * @param state the kind
 * @param reason why, for people; empty when {@link State#OPEN}
 */
public record SsdStatus(State state, String reason) {
    /** What is served. */
    public enum State {
        /** Reads and writes. */
        OPEN,
        /** Reads; writes into the slots there are, because the file system has no room for more. */
        NO_ROOM,
        /** Reads; writes fail and are tried again every few seconds. */
        PAUSED,
        /** Nothing: repeated errors took it out until it is opened again. */
        DISABLED,
        /** Nothing. */
        CLOSED
    }

    static final SsdStatus OPEN = new SsdStatus(State.OPEN, "");
}
