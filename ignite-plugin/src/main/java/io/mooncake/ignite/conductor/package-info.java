// SPDX-License-Identifier: Apache-2.0
/**
 * The conductor inside an Ignite node: feeds {@link io.mooncake.conductor} with matches and load, runs jobs through Ignite Compute on the
 * chosen node, exchanges load reports over the engine's control plane. Control plane; Ignite's public API only.
 */
@NullMarked
package io.mooncake.ignite.conductor;

import org.jspecify.annotations.NullMarked;
