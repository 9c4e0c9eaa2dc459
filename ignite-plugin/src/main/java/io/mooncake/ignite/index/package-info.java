// SPDX-License-Identifier: Apache-2.0
/**
 * Who holds which block: a table off the heap from block key to the set of holding nodes. Data plane for look-ups (no allocation a
 * block, no lock), control plane for changes. Knows nothing of Ignite or the network.
 */
@NullMarked
package io.mooncake.ignite.index;

import org.jspecify.annotations.NullMarked;
