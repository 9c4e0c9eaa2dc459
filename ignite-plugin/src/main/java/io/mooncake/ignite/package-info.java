// SPDX-License-Identifier: Apache-2.0
/**
 * The product as users of Ignite see it: the plugin bean, the entry point {@link io.mooncake.ignite.Mooncake}, routes and jobs, node
 * extensions. Ignite types are welcome here; Ignite's internals only in the adapter.
 */
@NullMarked
package io.mooncake.ignite;

import org.jspecify.annotations.NullMarked;
