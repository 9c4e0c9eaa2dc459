// SPDX-License-Identifier: Apache-2.0
/**
 * {@code ./mooncake bench pool}: blocks by key, put and taken on this node and another, beside Mooncake's store, Redis and a plain Ignite cache of byte arrays.
 * Each product runs in processes of its own and is measured in turns.
 */
@NullMarked
package io.mooncake.benchmarks.pool;

import org.jspecify.annotations.NullMarked;
