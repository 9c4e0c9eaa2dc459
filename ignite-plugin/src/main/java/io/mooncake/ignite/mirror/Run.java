// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import io.mooncake.memory.BlockKey;

/**
 * An unbranched piece of a chain that a node holds.
 *
 * @param first chain digest of its first block; names the run, so that a growing run keeps its row
 * @param last chain digest of its last block: the prefix that the row shows
 * @param depth index of the last block in its chain, from 0
 * @param blocks blocks of the run, 1..{@link RunBuilder#MAX_BLOCKS}
 * @param bytes payload of those blocks
 * @param hits times the last block was reused
 */
record Run(BlockKey first, BlockKey last, int depth, int blocks, long bytes, long hits) {}
