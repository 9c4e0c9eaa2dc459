// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.memory.BlockKey;
import java.util.List;
import java.util.UUID;

/** What nodes say to each other about copies. */
sealed interface PlaceFrame {
    /**
     * "I have these; pull them." Parents before children.
     *
     * @param number tells the answer; counts within one life of the offering node
     * @param node Ignite's id of the offering node
     * @param pool name of the pool, 1..128 characters
     * @param tenant whose blocks they are, 1..128 characters
     * @param millis time within which the answer is of use
     * @param keys 1..{@value PlaceFrameDescriptor#MAX_BLOCKS} blocks
     */
    record Offer(long number, UUID node, String pool, String tenant, int millis, List<BlockKey> keys)
            implements PlaceFrame {
        public Offer {
            keys = List.copyOf(keys);
        }
    }

    /**
     * What became of an offer.
     *
     * @param number the offer's
     * @param outcomes one a key, in the offer's order
     */
    record Answer(long number, List<Outcome> outcomes) implements PlaceFrame {
        public Answer {
            outcomes = List.copyOf(outcomes);
        }
    }

    /**
     * "Which of your blocks are used most?"
     *
     * @param pool name of the pool
     * @param max most blocks wanted, 1..{@value PlaceFrameDescriptor#MAX_HOT}
     */
    record HotQuery(String pool, int max) implements PlaceFrame {}

    /**
     * The most used blocks, most used first, parents before children.
     *
     * @param blocks up to as many as were asked for
     */
    record HotBlocks(List<Hot> blocks) implements PlaceFrame {
        public HotBlocks {
            blocks = List.copyOf(blocks);
        }
    }

    /**
     * One used block.
     *
     * @param key its key
     * @param hits how often it was leased by a look-up
     * @param tenant whose it is
     */
    record Hot(BlockKey key, long hits, String tenant) {}

    /** What became of one offered block. The order is the number on the wire. */
    enum Outcome {
        /** It is there now. */
        STORED,
        /** It was there before. */
        EXISTING,
        /** No memory for it: all of the pool is in use, or the tenant's quota is. */
        NO_ROOM,
        /** The node is to leave itself. */
        DRAINING,
        /** The node has no such pool. */
        UNKNOWN_POOL,
        /** The offering node no longer had it. */
        GONE,
        /** It did not come whole, in time, or from a living node. */
        FAILED;

        /** Whether the node has the block. */
        boolean held() {
            return this == STORED || this == EXISTING;
        }
    }
}
