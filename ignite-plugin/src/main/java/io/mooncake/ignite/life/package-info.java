// SPDX-License-Identifier: Apache-2.0
/**
 * Whether this node may still speak for its blocks: a node that was paused, or that others do not count any more, gives and announces nothing until it
 * knows better, and of a cluster that has split the smaller side stops.
 *
 * <p>May touch: members, the engine's messages, the adapter. {@link io.mooncake.ignite.life.LifeGuard} itself touches neither Ignite nor threads.
 */
@NullMarked
package io.mooncake.ignite.life;

import org.jspecify.annotations.NullMarked;
