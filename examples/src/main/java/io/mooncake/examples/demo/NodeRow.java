// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

/**
 * What one node did in the demo.
 *
 * @param name its name
 * @param alive whether it still ran at the end
 * @param requests requests it answered
 * @param localTokens prompt tokens reused from its own memory or SSD
 * @param remoteTokens prompt tokens it fetched
 * @param computedTokens prompt tokens it computed
 * @param bytesFetched bytes it fetched from peers
 * @param bytesServed bytes peers fetched from it
 * @param blocks blocks in its memory
 * @param capacityBlocks blocks that fit there
 * @param ssdBlocks blocks on its SSD
 * @param ssdLoads blocks brought up from there into memory
 */
public record NodeRow(
        String name,
        boolean alive,
        int requests,
        long localTokens,
        long remoteTokens,
        long computedTokens,
        long bytesFetched,
        long bytesServed,
        long blocks,
        long capacityBlocks,
        long ssdBlocks,
        long ssdLoads) {}
