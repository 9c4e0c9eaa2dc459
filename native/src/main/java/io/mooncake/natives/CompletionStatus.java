// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

/** How a posted request ended: the codes of {@code ibv_wc_status}, in their order. */
public enum CompletionStatus {
    SUCCESS,
    LOCAL_LENGTH,
    LOCAL_QUEUE_PAIR_OPERATION,
    LOCAL_CONTEXT_OPERATION,
    /** The local memory is not registered for this. */
    LOCAL_PROTECTION,
    /** Not executed: an earlier request broke the queue pair, or it was told to stop. */
    FLUSHED,
    MEMORY_WINDOW_BIND,
    BAD_RESPONSE,
    LOCAL_ACCESS,
    REMOTE_INVALID_REQUEST,
    /** The peer's memory is not registered, not for this right, or not of this length. */
    REMOTE_ACCESS,
    REMOTE_OPERATION,
    /** The peer's device did not answer in time: it, its queue pair or the way to it is gone. */
    RETRIES_EXCEEDED,
    RECEIVER_NOT_READY,
    LOCAL_DOMAIN_VIOLATION,
    REMOTE_INVALID_DATAGRAM,
    REMOTE_ABORTED,
    INVALID_CONTEXT_NUMBER,
    INVALID_CONTEXT_STATE,
    FATAL,
    RESPONSE_TIMEOUT,
    GENERAL;

    private static final CompletionStatus[] VALUES = values();

    /** Of the driver's number; one that is not known is GENERAL. */
    public static CompletionStatus of(long code) {
        return code >= 0 && code < VALUES.length ? VALUES[(int) code] : GENERAL;
    }
}
