// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

/**
 * Where a follower writes what it learns of one owner and pool. A copy is built unseen and replaces the one before it at once, so that a
 * snapshot never shows a half-filled index.
 */
public interface HolderSink {
    /** Begins a new, unseen copy. */
    Copy begin();

    /** One copy. Safe for all threads; changes after {@link #drop} do nothing. */
    interface Copy {
        /** What happened to a block; {@code event} is borrowed. */
        void apply(EventCursor event);

        /** Makes it the one that look-ups see. */
        void show();

        /** Forgets it, because another one takes its place or it is of no use. Idempotent. */
        void drop();

        /** Forgets it, because its owner left. Idempotent. */
        void lose();
    }
}
