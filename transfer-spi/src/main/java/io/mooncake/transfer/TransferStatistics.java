// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/**
 * Counters of an engine since its start; a consistent-enough snapshot.
 *
 * @param readLocal bytes that arrived by this engine's reads of its own memory, see {@link PathReport.Kind#LOCAL}
 * @param readShm bytes that this engine copied out of the mapped memory of peers
 * @param readRdma bytes that arrived by RDMA READ
 * @param readTcp bytes that arrived by TCP
 * @param writtenLocal bytes that this engine's writes put into its own memory
 * @param writtenShm bytes that peers on this machine took out of this engine's memory for its writes
 * @param writtenRdma bytes sent by RDMA WRITE
 * @param writtenTcp bytes sent by TCP
 * @param bytesServed bytes that peers read from this engine's memory; what they copied out of mapped memory counts when they release the
 *     lease, and not at all without one
 * @param bytesReceived bytes that peers wrote into this engine's memory
 * @param requestsServed data-plane requests answered with bytes
 * @param requestsRefused data-plane requests refused, forged ones included
 * @param leasesGranted elements granted to peers
 * @param leasesOpen elements granted and not yet released or expired
 * @param authenticationFailures connections and control messages that did not prove the secret
 */
public record TransferStatistics(
        long readLocal,
        long readShm,
        long readRdma,
        long readTcp,
        long writtenLocal,
        long writtenShm,
        long writtenRdma,
        long writtenTcp,
        long bytesServed,
        long bytesReceived,
        long requestsServed,
        long requestsRefused,
        long leasesGranted,
        long leasesOpen,
        long authenticationFailures) {
    /** Bytes that arrived by this engine's reads, whatever their way. */
    public long bytesRead() {
        return readLocal + readShm + readRdma + readTcp;
    }

    /** Bytes sent by this engine's writes, whatever their way. */
    public long bytesWritten() {
        return writtenLocal + writtenShm + writtenRdma + writtenTcp;
    }
}
