// SPDX-License-Identifier: Apache-2.0
/**
 * The soft SQL mirror: what this node holds, as rows of schema {@code MOONCAKE} in one Ignite cache, behind the truth by at most half a
 * second. Written by the holder only, lost without harm, rebuilt from the pools. Nothing routes or reuses by it. Control plane.
 */
@NullMarked
package io.mooncake.ignite.mirror;

import org.jspecify.annotations.NullMarked;
