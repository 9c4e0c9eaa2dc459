// SPDX-License-Identifier: Apache-2.0
/**
 * What the transports share: keys, regions, capabilities, batches, leases on the owner's side. Data plane: no locks across a transfer, no
 * logging. Touches the transfer API only; nobody outside of the transfer packages uses it.
 */
@NullMarked
package io.mooncake.transfer.internal;

import org.jspecify.annotations.NullMarked;
