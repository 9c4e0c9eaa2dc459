// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.ssd.SsdStatistics;
import io.mooncake.memory.ssd.SsdStatus;

/**
 * Counters of an {@link SsdTier}; totals since it was opened unless said otherwise. Read without a lock.
 *
 * @param status what the store does at the moment
 * @param blocks blocks on the SSD now
 * @param capacityBlocks blocks that fit
 * @param blockBytes bytes a block takes there
 * @param written blocks written
 * @param loaded blocks brought up into memory
 * @param evicted blocks taken off the SSD for room
 * @param queued blocks that wait to be written, or are being written, now
 * @param dropped blocks that found the queue full, so that they were written later, or not if memory gave them up before
 * @param lost blocks that memory gave up before they were written
 * @param writeFailures blocks whose first write came to nothing; they are tried again while memory has them
 * @param readFailures blocks that the device did not give
 * @param late blocks that were not there by the deadline
 * @param damaged blocks that failed a check when they were read
 * @param recovered blocks found when it was opened and announced by now
 * @param recovering whether it still looks what is there
 * @param store the store's own counters
 */
public record SsdTierStatistics(
        SsdStatus status,
        int blocks,
        int capacityBlocks,
        int blockBytes,
        long written,
        long loaded,
        long evicted,
        int queued,
        long dropped,
        long lost,
        long writeFailures,
        long readFailures,
        long late,
        long damaged,
        long recovered,
        boolean recovering,
        SsdStatistics store) {}
