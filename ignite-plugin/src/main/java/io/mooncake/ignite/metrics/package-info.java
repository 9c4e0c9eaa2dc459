// SPDX-License-Identifier: Apache-2.0
/** Metrics of the node for Prometheus, over HTTP. Control plane; Ignite's public API. */
@NullMarked
package io.mooncake.ignite.metrics;

import org.jspecify.annotations.NullMarked;
