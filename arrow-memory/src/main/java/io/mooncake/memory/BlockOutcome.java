// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/** What became of a request about one block, named by its key. */
public enum BlockOutcome {
    /** It is as asked. */
    DONE,
    /** It was so before: a pin that was there, or was not there to be taken off. */
    UNCHANGED,
    /** The block is not here. */
    ABSENT,
    /** Refused, and nothing changed: a hard pin holds the block, or one that follows it. */
    PINNED
}
