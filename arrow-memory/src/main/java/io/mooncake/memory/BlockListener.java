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

    /** The block {@code key} of {@code generation} is gone; its memory may be reused by now. */
    void onRemoved(BlockKey key, long generation);
}
