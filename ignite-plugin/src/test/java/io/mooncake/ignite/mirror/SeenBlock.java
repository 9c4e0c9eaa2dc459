// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import io.mooncake.memory.BlockKey;

/**
 * What the mirror looks at of a block.
 *
 * @param key chain digest
 * @param parent digest of the block before it, or the tenant's root
 * @param depth index in its chain, from 0
 * @param hits times it was reused
 */
record SeenBlock(BlockKey key, BlockKey parent, int depth, long hits) {}
