// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Goes through the entries of an index one after the other and copies none but the one it is at. An entry that comes or goes meanwhile may be missed;
 * one that is shown was there. Threading: one thread an iterator.
 */
final class HeldCopies implements Iterator<HeldCopy> {
    /** Reads one entry. */
    interface Reader {
        /** Adds the holders of entry {@code entry} to {@code found}. @return false behind the last entry */
        boolean read(int entry, ArrayDeque<HeldCopy> found);
    }

    private final Reader reader;
    private final ArrayDeque<HeldCopy> found = new ArrayDeque<>();
    private int next;
    private boolean ended;

    HeldCopies(Reader reader) {
        this.reader = reader;
    }

    @Override
    public boolean hasNext() {
        while (found.isEmpty() && !ended) {
            ended = !reader.read(next++, found);
        }
        return !found.isEmpty();
    }

    @Override
    public HeldCopy next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return found.remove();
    }
}
