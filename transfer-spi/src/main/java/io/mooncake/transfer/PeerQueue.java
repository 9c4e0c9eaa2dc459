// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.util.UUID;

/**
 * Asynchronous transfers with one peer. A ticket is cut into parts that share peer, direction and deadline.
 *
 * @param peer incarnation of the peer
 * @param running parts that run, or whose turn has come
 * @param waiting parts that wait behind them
 */
public record PeerQueue(UUID peer, int running, int waiting) {}
