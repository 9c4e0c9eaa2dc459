// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.BlockKey;
import java.nio.ByteBuffer;

/**
 * A block to be stored.
 *
 * @param parent key of the block before it, or the tenant's root
 * @param depth index in its chain, 0 for the first
 * @param tokens its own tokens, as many as the pool's blocks have
 * @param payload its bytes from position to limit, as many as the pool's blocks have; read, not kept, position and limit stay
 */
public record BlockPut(BlockKey parent, int depth, int[] tokens, ByteBuffer payload) {}
