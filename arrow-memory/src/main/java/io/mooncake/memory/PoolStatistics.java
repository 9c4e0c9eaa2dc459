// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.Map;

/**
 * Counters of one pool; totals since creation unless said otherwise. Read without a lock, so sums may be off by what happens meanwhile.
 *
 * @param blocks blocks sealed now
 * @param capacityBlocks blocks that fit
 * @param freeBlocks blocks free now; those that are neither free nor sealed are being filled
 * @param payloadBytes bytes of one block's payload
 * @param strideBytes bytes one block takes with its header
 * @param stored blocks sealed
 * @param evicted blocks evicted
 * @param removed blocks that went because they were asked to, or for what their tenant may have
 * @param allocationFailures times no block could be had because every leaf was leased
 * @param notAdmitted times a block was not stored because the policy found it not worth another's place
 * @param lookups look-ups finished
 * @param requestedTokens tokens of their prompts
 * @param localTokens tokens reused from this node's memory
 * @param remoteTokens tokens reused after a fetch
 * @param misses look-ups by the reason they ended for; {@link MissReason#NONE} counts complete ones
 * @param openLeases leases, matches, pins, writers and incoming blocks open now
 * @param listenerErrors calls of listeners that threw
 */
public record PoolStatistics(
        int blocks,
        int capacityBlocks,
        int freeBlocks,
        int payloadBytes,
        long strideBytes,
        long stored,
        long evicted,
        long removed,
        long allocationFailures,
        long notAdmitted,
        long lookups,
        long requestedTokens,
        long localTokens,
        long remoteTokens,
        Map<MissReason, Long> misses,
        long openLeases,
        long listenerErrors) {
    public PoolStatistics {
        misses = Map.copyOf(misses);
    }
}
