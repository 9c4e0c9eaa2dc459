// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

/**
 * Counters of an {@link SsdStore} since it was opened, and what it holds now.
 *
 * @param records records that can be read now
 * @param slots slots that exist now
 * @param capacitySlots slots that may ever exist
 * @param stored records written
 * @param loaded records read and verified
 * @param misses reads of keys that are not there
 * @param removed records removed on request
 * @param damaged records that failed their checksum, found by reads or by the scrubber, and taken out
 * @param damagedPages pages of the index that failed theirs
 * @param readErrors failed or stalled reads
 * @param writeErrors failed or stalled writes and syncs
 * @param busy operations refused because a queue was full, or the record was being written
 * @param full writes refused because no slot was free
 * @param paused writes refused because writing fails
 * @param commits group commits
 * @param checkpoints times the index was written anew
 * @param scrubbed records that the scrubber verified
 * @param recovered records found at opening
 * @param recoveryNanos time that took
 */
public record SsdStatistics(
        int records,
        int slots,
        int capacitySlots,
        long stored,
        long loaded,
        long misses,
        long removed,
        long damaged,
        long damagedPages,
        long readErrors,
        long writeErrors,
        long busy,
        long full,
        long paused,
        long commits,
        long checkpoints,
        long scrubbed,
        long recovered,
        long recoveryNanos) {}
