// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

/** How an operation of an {@link SsdStore} ended. None of these is an error of the caller's. */
public enum SsdOutcome {
    /** Not asked yet, or not over: the memory is in use. */
    PENDING,
    /** The record is written and can be read; a power cut may still lose it. */
    STORED,
    /** The record is written and survives a power cut. */
    SYNCED,
    /** There is a record of this key already, for a ticket that waits for SYNCED a synced one; nothing was written. */
    PRESENT,
    /** The record is in the caller's memory, verified. */
    LOADED,
    /** There is no record of this key. */
    MISS,
    /** What the device gave was not what was stored: the record is taken out. The memory holds rubbish. */
    DAMAGED,
    /** The queue is full, or a record of this key is being written: ask again. */
    BUSY,
    /** No slot is free, and the file system has no room for more of them. */
    FULL,
    /** The record was removed before the operation was over. */
    REMOVED,
    /** The device failed this operation. */
    FAILED,
    /** Writes fail again and again, so none is tried for some seconds. */
    PAUSED,
    /** The store took itself out after repeated errors, see {@link SsdStore#status()}. */
    DISABLED,
    /** The store is closed. */
    CLOSED
}
