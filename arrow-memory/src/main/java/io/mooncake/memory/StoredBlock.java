// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * What is known of one sealed block without its payload: enough for another node to build the same token tree.
 *
 * @param key chain digest
 * @param parent digest of the block before it, or the tenant's root for the first
 * @param depth index in the chain, 0 for the first block of a prompt
 * @param tokens the block's own token ids, {@code blockTokens} of them; not to be changed
 * @param generation of the memory it lies in
 * @param tenant name of the tenant that stored it
 */
public record StoredBlock(BlockKey key, BlockKey parent, int depth, int[] tokens, long generation, String tenant) {}
