// SPDX-License-Identifier: Apache-2.0
/**
 * Who is in the cluster and where: small records under a node's lease, replicated to every node, with engines' addresses among them.
 * Control plane: may allocate, lock and log. Knows neither Ignite nor etcd: their providers are found by {@link java.util.ServiceLoader}.
 */
@NullMarked
package io.mooncake.transfer.metadata;

import org.jspecify.annotations.NullMarked;
