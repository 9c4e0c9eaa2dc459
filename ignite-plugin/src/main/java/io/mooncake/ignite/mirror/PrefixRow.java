// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import io.mooncake.memory.BlockKey;

/**
 * One row of {@code MOONCAKE.PREFIXES} as its holder means it.
 *
 * @param pool name of the pool
 * @param prefix chain digest at the end of the run
 * @param tokens tokens of the prompt up to there
 * @param holders nodes that hold that block, this one included
 * @param hits times this holder's block there was reused
 * @param depth index of the block
 * @param blocks blocks of the run
 * @param bytes payload of the run
 */
record PrefixRow(String pool, BlockKey prefix, int tokens, int holders, long hits, int depth, int blocks, long bytes) {}
