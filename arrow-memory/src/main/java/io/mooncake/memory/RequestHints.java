// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.policy.Request;

/**
 * What whoever serves a request knows of it beside its tokens, for the pool's {@linkplain io.mooncake.memory.policy.EvictionPolicy policy}. All of
 * it is optional, and none of it changes what is found.
 *
 * @param turn number of the request in its session, 0 for the first; {@link #UNKNOWN_TURN} lets the policy guess it from the tokens
 * @param blockCost what computing one of its blocks again would cost, in any one unit for all requests of a pool; 1 when all cost alike; 1e-6..1e6
 */
public record RequestHints(int turn, double blockCost) {
    /** Not known. */
    public static final int UNKNOWN_TURN = Request.UNKNOWN;

    /** Nothing is known. */
    public static final RequestHints NONE = new RequestHints(UNKNOWN_TURN, 1);

    public RequestHints {
        if (turn < UNKNOWN_TURN) {
            throw MooncakeException.invalid("turn", turn, "at least 0, or UNKNOWN_TURN");
        }
        if (!(blockCost >= 1e-6 && blockCost <= 1e6)) {
            throw MooncakeException.invalid("blockCost", blockCost, "1e-6..1e6");
        }
    }
}
