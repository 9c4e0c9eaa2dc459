// SPDX-License-Identifier: Apache-2.0
/**
 * The pool a program talks to: what a block is ({@link io.mooncake.memory.KvIdentity}, {@link io.mooncake.memory.BlockLayout}), how
 * cached prefixes are taken ({@link io.mooncake.memory.KvPool}, {@link io.mooncake.memory.PrefixLease}) and how new ones are stored
 * ({@link io.mooncake.memory.BlockWriter}). Knows nothing of Ignite, DJL or the network.
 */
@NullMarked
package io.mooncake.memory;

import org.jspecify.annotations.NullMarked;
