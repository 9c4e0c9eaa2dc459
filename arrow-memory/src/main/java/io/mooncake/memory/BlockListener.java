// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * Told what a pool stores and loses, in the one order in which its index changed.
 *
 * <p>Threading: called by whichever thread publishes or evicts, one call at a time for a pool, and under no lock: a listener may call the
 * pool, whose further events follow after it returns. It must be cheap, because publishers wait for it. What it throws is logged and
 * counted, and stops nobody.
 */
public interface BlockListener {
    /** {@code block} is sealed and indexed. */
    void onStored(StoredBlock block);

    /** As {@link #onStored(StoredBlock)}, with the tier that got it first; this one is what is called. */
    default void onStored(StoredBlock block, HeldIn where) {
        onStored(block);
    }

    /**
     * A block that is held goes on to be, but elsewhere. A pool alone never tells this, a {@link SsdTier} does.
     *
     * @param generation as it was stored under
     */
    default void onTierChanged(BlockKey key, long generation, HeldIn where) {}

    /** The block {@code key} of {@code generation} is gone; its memory may be reused by now. */
    default void onRemoved(BlockKey key, long generation) {}

    /** As {@link #onRemoved(BlockKey, long)}, with the reason; this one is what is called. */
    default void onRemoved(BlockKey key, long generation, RemovalCause cause) {
        onRemoved(key, generation);
    }

    /** The pool is closed: nothing is held any more, and no event follows. Its blocks are not told of one by one. */
    default void onClosed() {}
}
