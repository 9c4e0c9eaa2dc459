// SPDX-License-Identifier: Apache-2.0
/**
 * Requests, replies and events over JeroMQ, on connections that were authenticated before JeroMQ sees them. May allocate and lock. Touches
 * the transfer API, the authenticated sockets and JeroMQ.
 */
@NullMarked
package io.mooncake.transfer.control;

import org.jspecify.annotations.NullMarked;
