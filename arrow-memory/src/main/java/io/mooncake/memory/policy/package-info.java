// SPDX-License-Identifier: Apache-2.0
/**
 * Which block goes next and which may come: {@link io.mooncake.memory.policy.EvictionPolicy} and its implementations. Plain Java over slot
 * numbers and 64-bit block names, driven by an injected clock, so that a trace replays alike. No allocation a block; uses of blocks are noted
 * without a lock.
 */
@NullMarked
package io.mooncake.memory.policy;

import org.jspecify.annotations.NullMarked;
