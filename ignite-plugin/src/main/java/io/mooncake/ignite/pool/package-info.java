// SPDX-License-Identifier: Apache-2.0
/**
 * The pool as a cluster sees it: local blocks at once, the rest fetched from their holders under a lease and verified; and this node's
 * blocks leased to peers. May use the local pool, the index and the engine; no Ignite here, and never a cache.
 */
@NullMarked
package io.mooncake.ignite.pool;

import org.jspecify.annotations.NullMarked;
