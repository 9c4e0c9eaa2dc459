// SPDX-License-Identifier: Apache-2.0
/**
 * Who holds which block: a table in primitive arrays from block key to the set of holding nodes. Data plane for look-ups (no allocation a
 * block, no lock taken on the usual path), control plane for changes. Knows nothing of Ignite or the network.
 */
@NullMarked
package io.mooncake.ignite.index;

import org.jspecify.annotations.NullMarked;
