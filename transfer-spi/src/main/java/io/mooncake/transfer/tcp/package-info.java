// SPDX-License-Identifier: Apache-2.0
/**
 * Sockets: the keyed handshake on all three ports, and the data plane over blocking channels straight into registered memory. Data plane:
 * no logging and no buffers a request. Touches the transfer API and its internals.
 */
@NullMarked
package io.mooncake.transfer.tcp;

import org.jspecify.annotations.NullMarked;
