// SPDX-License-Identifier: Apache-2.0
/**
 * Where a request will answer soonest: plain Java that a simulation can drive. Decides from what it is told (load, matches, speeds);
 * no threads, no clock of its own, no Ignite, no network.
 */
@NullMarked
package io.mooncake.conductor;

import org.jspecify.annotations.NullMarked;
