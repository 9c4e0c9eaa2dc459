// SPDX-License-Identifier: Apache-2.0
/**
 * What operators and clients ask a node: system views, metrics, the service. Views and metrics are local to their node and hold neither
 * prompts nor tenants. Control plane; Ignite's public API and the adapter.
 */
@NullMarked
package io.mooncake.ignite.query;

import org.jspecify.annotations.NullMarked;
