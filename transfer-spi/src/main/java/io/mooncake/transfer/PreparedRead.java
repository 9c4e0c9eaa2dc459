// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/**
 * A leased read that was checked once and runs as often as wanted, without allocating.
 *
 * <p>Threading: one thread at a time; a run that begins while another is under way spoils both. Ownership: the lease stays the caller's; once it
 * is closed or over, runs end as LEASE_EXPIRED.
 */
public interface PreparedRead {
    /** Requests of the read. */
    int size();

    /**
     * Reads and verifies, see {@link TransferEngine#read}.
     *
     * @param statuses takes one status a request, in order; at least {@link #size()} long
     * @param deadlineNanos on {@link System#nanoTime()}; a past one ends the requests as TIMEOUT
     */
    void run(TransferStatus[] statuses, long deadlineNanos);
}
