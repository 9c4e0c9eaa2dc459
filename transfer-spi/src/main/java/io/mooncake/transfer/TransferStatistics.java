// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/**
 * Counters of an engine since its start; a consistent-enough snapshot.
 *
 * @param bytesRead bytes that arrived by this engine's reads
 * @param bytesWritten bytes sent by this engine's writes
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
        long bytesRead,
        long bytesWritten,
        long bytesServed,
        long bytesReceived,
        long requestsServed,
        long requestsRefused,
        long leasesGranted,
        long leasesOpen,
        long authenticationFailures) {}
