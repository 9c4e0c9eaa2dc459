// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import java.time.Duration;

/**
 * The one thread that a node's feed works on, and the time by which it does so: a thread of its own in a node, a simulation's loop in tests.
 *
 * <p>What it is given runs one at a time; what one throws stops nothing. Threading: safe for all threads.
 */
public interface FeedThread extends AutoCloseable {
    /** Runs {@code work} after what was given before. */
    void execute(Runnable work);

    /** Runs {@code work} once, about {@code delay} from now. */
    void after(Duration delay, Runnable work);

    /** Runs {@code work} again and again, {@code interval} after the time before. */
    void every(Duration interval, Runnable work);

    /** Runs nothing from now on; waits a while for what runs. Idempotent. */
    @Override
    void close();

    /** A thread of its own. */
    static FeedThread start(String name) {
        return new ScheduledFeedThread(name);
    }
}
