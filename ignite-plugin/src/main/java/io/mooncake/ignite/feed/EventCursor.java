// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.memory.BlockKey;
import java.util.Arrays;

/**
 * The event that a reader of {@link FeedRecords} stands at. One object for a whole frame: what its arrays hold is overwritten by the next event.
 * For one thread.
 */
public final class EventCursor {
    private static final int KEY_WORDS = 4;

    final long[] key = new long[KEY_WORDS];
    final long[] parent = new long[KEY_WORDS];
    /** Key and depth of the last block stored in this frame: chained records begin from there. */
    final long[] chain = new long[KEY_WORDS];

    int chainDepth = -1;
    BlockEvent.Kind kind = BlockEvent.Kind.STORED;
    BlockPlace place = BlockPlace.MEMORY;
    RemovalCode cause = RemovalCode.UNKNOWN;
    int depth;
    int tokenCount;
    int[] tokens = new int[64];

    /** For the first event of another frame. */
    void clear() {
        chainDepth = -1;
    }

    /** What happened. */
    public BlockEvent.Kind kind() {
        return kind;
    }

    /** Where the owner has the block now; of no meaning when it is removed. */
    public BlockPlace place() {
        return place;
    }

    /** Why it was removed; UNKNOWN otherwise. */
    public RemovalCode cause() {
        return cause;
    }

    /** The block's chain digest, four words; borrowed until the next event. */
    public long[] key() {
        return key;
    }

    /** Digest of the block before it, four words; of no meaning unless stored; borrowed. */
    public long[] parent() {
        return parent;
    }

    /** Index of the block in its chain; 0 unless stored. */
    public int depth() {
        return depth;
    }

    /** Tokens that were told of it; 0 unless stored. */
    public int tokenCount() {
        return tokenCount;
    }

    /** The token ids; borrowed, and longer than {@link #tokenCount}. */
    public int[] tokens() {
        return tokens;
    }

    /** A copy that stays. */
    public BlockEvent toEvent() {
        BlockKey block = new BlockKey(key[0], key[1], key[2], key[3]);
        return switch (kind) {
            case STORED ->
                BlockEvent.stored(
                        block,
                        new BlockKey(parent[0], parent[1], parent[2], parent[3]),
                        depth,
                        Arrays.copyOf(tokens, tokenCount),
                        place);
            case PLACED -> BlockEvent.placed(block, place);
            case REMOVED -> BlockEvent.removed(block, cause);
        };
    }

    /** One that stands at {@code event}. */
    public static EventCursor at(BlockEvent event) {
        EventCursor cursor = new EventCursor();
        cursor.set(event);
        return cursor;
    }

    /** Stands at {@code event}. */
    public void set(BlockEvent event) {
        kind = event.kind();
        place = event.place();
        cause = event.cause();
        words(event.key(), key);
        words(event.parentKey(), parent);
        depth = event.depth();
        tokenCount = event.tokens().length;
        room();
        System.arraycopy(event.tokens(), 0, tokens, 0, tokenCount);
    }

    /** Makes room for {@code tokenCount} tokens. */
    void room() {
        if (tokens.length < tokenCount) {
            tokens = new int[Math.max(tokenCount, 2 * tokens.length)];
        }
    }

    static void words(BlockKey from, long[] to) {
        to[0] = from.word0();
        to[1] = from.word1();
        to[2] = from.word2();
        to[3] = from.word3();
    }
}
