// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import java.io.Serializable;
import java.util.Map;
import java.util.UUID;

/**
 * Figures of one node, for people and tests.
 *
 * @param nodeId the node
 * @param blocks blocks it holds
 * @param capacityBlocks blocks it can hold
 * @param localHitTokens tokens reused from own memory since start
 * @param remoteHitTokens tokens fetched from peers and reused since start
 * @param missedTokens tokens of prompts that were not reused since start
 * @param misses misses by reason name since start
 * @param bytesFetched bytes fetched from peers
 * @param bytesServed bytes peers fetched from here
 * @param evictions blocks evicted
 * @param ssdBlocks blocks on its SSD
 * @param ssdLoads blocks brought up from it since start
 * @param indexEntries entries of other nodes in this node's index
 */
public record NodeStatistics(
        UUID nodeId,
        long blocks,
        long capacityBlocks,
        long localHitTokens,
        long remoteHitTokens,
        long missedTokens,
        Map<String, Long> misses,
        long bytesFetched,
        long bytesServed,
        long evictions,
        long ssdBlocks,
        long ssdLoads,
        long indexEntries)
        implements Serializable {}
