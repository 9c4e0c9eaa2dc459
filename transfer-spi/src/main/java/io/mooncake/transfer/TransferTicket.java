// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * An asynchronous batch under way. A request has a status from when no byte can arrive in, or leave from, its local memory any more; until
 * then that memory is the engine's.
 *
 * <p>Threading: safe for all threads. Ownership: nothing to close; a ticket that is dropped goes on.
 */
public interface TransferTicket {
    /** Requests of the batch. */
    int size();

    /** How request {@code index} ended; empty while it is under way. Never blocks. */
    Optional<TransferStatus> poll(int index);

    /** Whether every request has ended. Never blocks. */
    boolean done();

    /**
     * Completes with one status a request, in order, when all have ended. It never completes exceptionally. Dependent actions that are not
     * asynchronous run on an engine's thread and must not block.
     */
    CompletionStage<TransferStatus[]> completion();

    /**
     * Waits for the end.
     *
     * @return the statuses, or empty when {@code deadline} passed before, or the thread was interrupted (its flag stays set)
     */
    Optional<TransferStatus[]> await(Deadline deadline);

    /**
     * Asks that requests which have not ended end as CANCELED soon: what is not on the wire yet never gets there, what is may still end as
     * it would have, at the latest by its deadline. Idempotent, never blocks.
     */
    void cancel();
}
