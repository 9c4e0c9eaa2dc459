// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** Kinds of blocks, by their position in the request that used them last and by how many conversations share them. */
final class BlockClass {
    /** Of one conversation; what a follow-up reuses. */
    static final int BODY = 0;

    static final int BEFORE_LAST = 1;
    /** Mostly partial: a follow-up has another block there. */
    static final int LAST = 2;

    static final int SHARED = 3;
    static final int SHARED_MORE = 4;
    static final int SHARED_MUCH = 5;
    static final int COUNT = 6;

    private static final int MORE = 3;
    private static final int MUCH = 8;

    private BlockClass() {}

    /** How many factors tell when the block returns: all, or none. */
    static int factors(int of) {
        return of <= SHARED ? Traits.FACTORS : 0;
    }

    /**
     * @param sharers how often the block went over from one conversation to another
     * @param fromEnd blocks of the request behind it
     */
    static int of(int sharers, int fromEnd) {
        if (sharers > 0) {
            return sharers >= MUCH ? SHARED_MUCH : sharers >= MORE ? SHARED_MORE : SHARED;
        }
        return fromEnd == 0 ? LAST : fromEnd == 1 ? BEFORE_LAST : BODY;
    }
}
