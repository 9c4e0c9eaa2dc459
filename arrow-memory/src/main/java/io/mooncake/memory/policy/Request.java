// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import io.mooncake.base.MooncakeException;

/**
 * What is known about a request, for policies that learn from it. All but the chain is optional: {@link #UNKNOWN} stands for what is not
 * known. Whoever serves the request fills it: the conductor, the DJL adapter, or a pool by itself from a look-up.
 *
 * <p>Ownership: {@code blocks} belongs to the request from then on; it is read after {@link EvictionPolicy#announce} returned.
 *
 * @param blocks the 64-bit names of the prompt's blocks in chain order, cached or not, a last partial one included; see
 *     {@link EvictionPolicy#stored}
 * @param moment of the request at which this is said
 * @param promptTokens length of the prompt
 * @param outputTokens length of the answer, when it is known
 * @param turn number of the request in its session, 0 for the first, so that the policy need not guess it
 * @param blockCost what computing one of its blocks again would cost, in any one unit for all requests; 1 when all cost alike; 1e-6..1e6
 */
public record Request(long[] blocks, Moment moment, int promptTokens, int outputTokens, int turn, double blockCost) {
    /** A request is announced when it begins, and again when it ends; or once, with all that is known of it. */
    public enum Moment {
        BEGIN,
        /** The end of one whose beginning was announced; of no other: it is ignored then, and so is a second end. */
        END,
        /** The request is announced this once. */
        WHOLE
    }

    /** Not known. */
    public static final int UNKNOWN = -1;

    public Request {
        if (blocks == null) {
            throw MooncakeException.invalid("blocks", "null", "names of blocks, none or more");
        }
        if (promptTokens < UNKNOWN) {
            throw MooncakeException.invalid("promptTokens", promptTokens, "at least 0, or UNKNOWN");
        }
        if (outputTokens < UNKNOWN) {
            throw MooncakeException.invalid("outputTokens", outputTokens, "at least 0, or UNKNOWN");
        }
        if (turn < UNKNOWN) {
            throw MooncakeException.invalid("turn", turn, "at least 0, or UNKNOWN");
        }
        if (!(blockCost >= 1e-6 && blockCost <= 1e6)) {
            throw MooncakeException.invalid("blockCost", blockCost, "1e-6..1e6");
        }
    }

    /** The beginning of a request of which nothing but its chain is known. */
    public static Request of(long[] blocks) {
        return new Request(blocks, Moment.BEGIN, UNKNOWN, UNKNOWN, UNKNOWN, 1);
    }

    /** The same with its prompt's length. */
    public Request withPromptTokens(int tokens) {
        return new Request(blocks, moment, tokens, outputTokens, turn, blockCost);
    }

    /** The same in its session. */
    public Request withTurn(int number) {
        return new Request(blocks, moment, promptTokens, outputTokens, number, blockCost);
    }

    /** The same with the cost of a block. */
    public Request withBlockCost(double cost) {
        return new Request(blocks, moment, promptTokens, outputTokens, turn, cost);
    }

    /** The end of this request, with the length of its answer. */
    public Request afterEnd(int tokens) {
        return new Request(blocks, Moment.END, promptTokens, tokens, turn, blockCost);
    }

    /** The same as a request that is announced this once, with the length of its answer. */
    public Request withAnswer(int tokens) {
        return new Request(blocks, Moment.WHOLE, promptTokens, tokens, turn, blockCost);
    }
}
