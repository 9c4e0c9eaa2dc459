// SPDX-License-Identifier: Apache-2.0
/**
 * Blocks by their keys, anywhere in the cluster: put, get, exists, pin, remove. For who has keys instead of prompts: stores above the pool, tools, benchmarks.
 *
 * <p>May touch: local and clustered pools, index, placement, the engine's messages. Not: Ignite's caches.
 */
@NullMarked
package io.mooncake.ignite.blocks;

import org.jspecify.annotations.NullMarked;
