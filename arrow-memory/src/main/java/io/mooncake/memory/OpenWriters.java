// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * The writers of a pool that were not closed yet, to find those that nobody will close: their thread has ended.
 *
 * <p>A writer whose thread lives is never touched, however long it takes. One that is handed from a thread that has ended to another is the other's with its
 * first call there; the term is the time it has for that.
 *
 * <p>Threading: safe for all threads.
 */
final class OpenWriters {
    /** When it was seen first that {@code thread} had ended. */
    private record Left(Thread thread, long sinceNanos) {}

    private final LongSupplier nanoClock;
    private final Set<LocalWriter> open = ConcurrentHashMap.newKeySet();
    /** Guarded by this. */
    private final Map<LocalWriter, Left> left = new HashMap<>();

    OpenWriters(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    void add(LocalWriter writer) {
        open.add(writer);
    }

    void remove(LocalWriter writer) {
        open.remove(writer);
    }

    /** Closes those whose thread was seen to have ended {@code term} ago or longer; how many. */
    synchronized int reclaim(Duration term) {
        long now = nanoClock.getAsLong();
        left.keySet().retainAll(open);
        for (LocalWriter writer : open) {
            Thread user = writer.user();
            if (user == null || user.isAlive()) {
                left.remove(writer);
            } else if (!left.containsKey(writer) || left.get(writer).thread != user) {
                left.put(writer, new Left(user, now));
            }
        }
        int reclaimed = 0;
        for (Iterator<Map.Entry<LocalWriter, Left>> all = left.entrySet().iterator(); all.hasNext(); ) {
            Map.Entry<LocalWriter, Left> one = all.next();
            if (now - one.getValue().sinceNanos >= term.toNanos()) {
                reclaimed += one.getKey().reclaim(one.getValue().thread) ? 1 : 0;
                all.remove();
            }
        }
        return reclaimed;
    }
}
