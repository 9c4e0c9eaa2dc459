// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.ignite.feed.BlockPlace;
import io.mooncake.memory.BlockKey;
import java.util.UUID;

/**
 * A block of another node, as the index has it.
 *
 * @param key the block
 * @param nodeId who holds it
 * @param place where
 */
public record HeldCopy(BlockKey key, UUID nodeId, BlockPlace place) {}
