// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What memory has, the SSD has not, and no queue holds: it is written when nothing else is to be.
 *
 * <pre>
 *   due      not tried yet, since the queue was full, or the SSD lost it; oldest first, so parents before what follows them
 *   failed   tried in vain: one of them at a time, after a pause that doubles when the next try fails, too
 * </pre>
 *
 * <p>Blocks that were refused, and those that left the SSD for others, are not here, so nothing is tried for ever that can't become better. Each
 * block goes with memory's copy of it, so there are never more than memory has places.
 *
 * <p>Threading: safe for all threads, one lock for a few instructions.
 */
final class TierBacklog implements BlockListener {
    /** Failures in a row after which the device is taken to be the reason, not the block. */
    private static final int PATIENCE = 3;

    private static final long FIRST_PAUSE_NANOS = 250_000_000L;
    private static final long LONGEST_PAUSE_NANOS = 4_000_000_000L;

    private final LongSupplier nanoClock;

    // Guarded by this.
    private final Set<BlockKey> due = new LinkedHashSet<>();
    private final Set<BlockKey> failed = new LinkedHashSet<>();
    private int failures;
    private long pauseNanos;
    private long retryAtNanos;

    TierBacklog(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /** {@code key} was not tried. */
    synchronized void due(BlockKey key) {
        due.add(key);
    }

    /** {@code key} was tried in vain. While memory can't lose it: else it might stay here for ever. */
    synchronized void failed(BlockKey key) {
        failed.add(key);
        if (failures == 0 || rested()) {
            pauseNanos = failures == 0 ? FIRST_PAUSE_NANOS : Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
            retryAtNanos = nanoClock.getAsLong() + pauseNanos;
        }
        failures++;
    }

    /** A block was written. */
    synchronized void succeeded() {
        failures = 0;
        retryAtNanos = nanoClock.getAsLong();
    }

    /** A block that was not tried; null when there is none, or the device has to be left alone. */
    synchronized @Nullable BlockKey pollDue() {
        return failures < PATIENCE || rested() ? poll(due) : null;
    }

    /** A block whose time has come to be tried again; null when there is none. */
    synchronized @Nullable BlockKey pollFailed() {
        return rested() ? poll(failed) : null;
    }

    private boolean rested() {
        return nanoClock.getAsLong() - retryAtNanos >= 0;
    }

    private static @Nullable BlockKey poll(Set<BlockKey> keys) {
        Iterator<BlockKey> all = keys.iterator();
        if (!all.hasNext()) {
            return null;
        }
        BlockKey key = all.next();
        all.remove();
        return key;
    }

    /** Whether something is here that was not tried, and may be now. */
    synchronized boolean hopeful() {
        return !due.isEmpty() && failures < PATIENCE;
    }

    /** Blocks that are not on the SSD and wait for it. */
    synchronized int size() {
        return due.size() + failed.size();
    }

    synchronized void clear() {
        due.clear();
        failed.clear();
    }

    @Override
    public void onStored(StoredBlock block) {}

    @Override
    public synchronized void onRemoved(BlockKey key, long generation) {
        due.remove(key);
        failed.remove(key);
    }
}
