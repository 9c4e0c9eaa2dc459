// SPDX-License-Identifier: Apache-2.0
package io.mooncake.base;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * A point on a monotonic clock by which a call must have answered. Every wait of the product takes one.
 *
 * <p>Units: nanoseconds of {@link System#nanoTime()} unless another clock is injected. Immutable, safe for all threads. Wall-clock time
 * never enters.
 */
public final class Deadline {
    private final LongSupplier nanoClock;
    private final long atNanos;

    private Deadline(LongSupplier nanoClock, long atNanos) {
        this.nanoClock = nanoClock;
        this.atNanos = atNanos;
    }

    /** A deadline {@code millis} from now; {@code millis} in 1..86,400,000. */
    public static Deadline ofMillis(long millis) {
        return of(Duration.ofMillis(millis));
    }

    /** A deadline {@code timeout} from now; up to one day. */
    public static Deadline of(Duration timeout) {
        return of(timeout, System::nanoTime);
    }

    /** A deadline {@code timeout} from now by {@code nanoClock}, for simulations. */
    public static Deadline of(Duration timeout, LongSupplier nanoClock) {
        if (timeout.isNegative() || timeout.isZero() || timeout.compareTo(Duration.ofDays(1)) > 0) {
            throw MooncakeException.invalid("deadline", timeout, "more than zero, at most one day");
        }
        return new Deadline(nanoClock, nanoClock.getAsLong() + timeout.toNanos());
    }

    /** What is left in nanoseconds; zero when it has passed, never negative. */
    public long remainingNanos() {
        return Math.max(0, atNanos - nanoClock.getAsLong());
    }

    /** What is left, rounded up to whole milliseconds: zero only when it has passed. */
    public long remainingMillis() {
        return (remainingNanos() + 999_999) / 1_000_000;
    }

    /** Whether it has passed. */
    public boolean expired() {
        return remainingNanos() == 0;
    }

    /** The earlier of this deadline and {@code cap} from now. */
    public Deadline atMost(Duration cap) {
        long capped = nanoClock.getAsLong() + cap.toNanos();
        return capped - atNanos < 0 ? new Deadline(nanoClock, capped) : this;
    }

    @Override
    public String toString() {
        return "Deadline[" + remainingMillis() + " ms left]";
    }
}
