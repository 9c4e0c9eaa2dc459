// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts what a pool has handed out and is owed a close for, and the calls that are reading its memory. With leak debugging (system
 * property {@code mooncake.leakDebug}) it also keeps the stack trace of each opening. When the pool is closed, the last handle has come back
 * and the last call has ended, {@code whenQuiet} runs once: only then may the memory go.
 *
 * <p>Threading: safe for all threads.
 */
final class OpenHandles {
    private static final long CLOSED = Long.MIN_VALUE;
    private static final long CALL = 1L << 32;
    private static final long HANDLES = CALL - 1;
    private static final int MAX_REPORTED = 20;

    private final String pool;
    private final boolean debug;
    private final Runnable whenQuiet;
    /** Open handles in the lower half, calls under way in the upper; the sign bit says that the pool is closed. */
    private final AtomicLong state = new AtomicLong();

    private final ConcurrentHashMap<Object, Throwable> sites = new ConcurrentHashMap<>();

    OpenHandles(String pool, boolean debug, Runnable whenQuiet) {
        this.pool = pool;
        this.debug = debug;
        this.whenQuiet = whenQuiet;
    }

    /** Counts a handle of {@code kind} in; ILLEGAL_STATE when the pool is closed. */
    void open(Object handle, String kind) {
        add(1);
        if (debug) {
            sites.put(handle, site(kind));
        }
    }

    /** Keeps the memory for a call that reads it and has no handle yet; ILLEGAL_STATE when the pool is closed. Owes a {@link #leave}. */
    void enter() {
        add(CALL);
    }

    /** As {@link #enter}; false when the pool is closed. */
    boolean tryEnter() {
        return tryAdd(CALL);
    }

    /** Ends {@link #enter}. */
    void leave() {
        subtract(CALL);
    }

    private void add(long what) {
        if (!tryAdd(what)) {
            throw closedError();
        }
    }

    private boolean tryAdd(long what) {
        long now;
        do {
            now = state.get();
            if (now < 0) {
                return false;
            }
        } while (!state.compareAndSet(now, now + what));
        return true;
    }

    private void subtract(long what) {
        if (state.addAndGet(-what) == CLOSED) {
            whenQuiet.run();
        }
    }

    /** {@code to} takes the place of {@code from}. */
    void move(Object from, Object to, String kind) {
        if (debug) {
            sites.remove(from);
            sites.put(to, site(kind));
        }
    }

    /** Counts a handle out. */
    void close(Object handle) {
        if (debug) {
            sites.remove(handle);
        }
        subtract(1);
    }

    void requireOpen() {
        if (state.get() < 0) {
            throw closedError();
        }
    }

    long count() {
        return state.get() & HANDLES;
    }

    boolean debug() {
        return debug;
    }

    /** Marks the pool closed; false when it was already. */
    boolean closePool() {
        long now;
        do {
            now = state.get();
            if (now < 0) {
                return false;
            }
        } while (!state.compareAndSet(now, now | CLOSED));
        if (now == 0) {
            whenQuiet.run();
        }
        return true;
    }

    /** Who holds what, for people. */
    String report() {
        StringBuilder text = new StringBuilder(256);
        text.append("pool ").append(pool).append(": ").append(count()).append(" open at close (expected: 0)");
        if (!debug) {
            return text.append("; -Dmooncake.leakDebug=true shows where they were opened")
                    .toString();
        }
        int shown = 0;
        for (Throwable site : sites.values()) {
            if (shown++ == MAX_REPORTED) {
                text.append("\n  ...");
                break;
            }
            text.append("\n  ").append(site.getMessage());
            for (StackTraceElement frame : site.getStackTrace()) {
                text.append("\n    at ").append(frame);
            }
        }
        return text.toString();
    }

    private static Throwable site(String kind) {
        return new Throwable(
                kind + " opened by thread " + Thread.currentThread().getName());
    }

    private MooncakeException closedError() {
        return new MooncakeException(Code.ILLEGAL_STATE, "pool " + pool + ": closed (expected: open)");
    }
}
