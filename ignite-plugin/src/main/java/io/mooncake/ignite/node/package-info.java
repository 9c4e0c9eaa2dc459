// SPDX-License-Identifier: Apache-2.0
/**
 * One node's wiring: life cycle, engine ownership, membership, join check, extensions, and the {@link io.mooncake.ignite.Mooncake} that
 * users get. Touches every other room of the plugin; Ignite by its public API and the adapter.
 */
@NullMarked
package io.mooncake.ignite.node;

import org.jspecify.annotations.NullMarked;
