// SPDX-License-Identifier: Apache-2.0
/**
 * The seam inside a node: what the plugin's parts (routing, mirror, views) get from the node and how they live with it. May touch
 * Ignite's public API, the pool and the engine; never Ignite's internals.
 */
@NullMarked
package io.mooncake.ignite.internal;

import org.jspecify.annotations.NullMarked;
