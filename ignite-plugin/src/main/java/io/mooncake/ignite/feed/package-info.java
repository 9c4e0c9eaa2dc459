// SPDX-License-Identifier: Apache-2.0
/**
 * The owners' feed: every storing node numbers what happens to its blocks and publishes it; followers keep their index equal to the
 * owner's truth by gap repair and snapshots. The state machines are plain Java with clock and transport injected; no Ignite here.
 */
@NullMarked
package io.mooncake.ignite.feed;

import org.jspecify.annotations.NullMarked;
