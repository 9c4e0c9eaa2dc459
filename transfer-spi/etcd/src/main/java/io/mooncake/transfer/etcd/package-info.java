// SPDX-License-Identifier: Apache-2.0
/**
 * Metadata in etcd: one lease a node, a copy that follows etcd's watch, publication that heals itself. The only room that knows jetcd; touches
 * the engine's metadata interfaces and nothing else of ours. Control plane.
 */
@NullMarked
package io.mooncake.transfer.etcd;

import org.jspecify.annotations.NullMarked;
