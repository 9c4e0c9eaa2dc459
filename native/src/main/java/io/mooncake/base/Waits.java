// SPDX-License-Identifier: Apache-2.0
package io.mooncake.base;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/**
 * Time, and how a thread waits. Protocol code that waits goes by it, so that a simulation can run it: there one thread does everything, and who waits lets the rest of
 * the cluster go on.
 *
 * <p>Units: monotonic nanoseconds. Threading: safe for all threads.
 */
public interface Waits {
    /** The system's clock; the calling thread sleeps. */
    Waits SYSTEM = new SystemWaits();

    /** Now. */
    long nanoTime();

    /** A deadline {@code timeout} from now, more than zero and at most one day. */
    default Deadline deadline(Duration timeout) {
        return Deadline.of(timeout, this::nanoTime);
    }

    /** Waits for {@code future} for at most {@code nanos}. */
    <T> T await(CompletableFuture<T> future, long nanos)
            throws InterruptedException, ExecutionException, TimeoutException;

    /** Lets {@code nanos} pass. */
    void pause(long nanos) throws InterruptedException;
}
