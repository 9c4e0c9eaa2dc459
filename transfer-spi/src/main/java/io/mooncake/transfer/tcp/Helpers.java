// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.internal.TransferBatch;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Threads that drive further connections of a batch. They are parked between batches and end after half a minute without work; handing
 * them a batch allocates nothing.
 *
 * <p>A parked helper stands in {@code parked}. Who takes it out owns its work fields until {@code called} is set; from then on they are the
 * helper's. A helper that wants to end takes itself out, and where another was faster it has work.
 */
final class Helpers implements AutoCloseable {
    /** Threads at a time, over all peers. */
    static final int MAX = 256;

    private static final long IDLE_NANOS = 30_000_000_000L;

    /** What a helper does with a batch. */
    @FunctionalInterface
    interface Work {
        void help(TcpPeerLink link, TransferBatch batch, long time);
    }

    private final Work work;
    // Guarded by this. The latest to be parked is the first to be called, so that the others may end.
    private final @Nullable Helper[] parked = new Helper[MAX];
    private int parkedCount;
    private int alive;
    private boolean closed;

    Helpers(Work work) {
        this.work = work;
    }

    /** Has one more thread work on the batch; false when there is none to be had. */
    boolean call(TcpPeerLink link, TransferBatch batch, long time) {
        Helper helper = null;
        synchronized (this) {
            if (closed) {
                return false;
            }
            if (parkedCount > 0) {
                helper = parked[--parkedCount];
                parked[parkedCount] = null;
            } else if (alive == MAX) {
                return false;
            } else {
                alive++;
            }
        }
        if (helper != null) {
            helper.call(link, batch, time);
            return true;
        }
        return start(link, batch, time);
    }

    private boolean start(TcpPeerLink link, TransferBatch batch, long time) {
        try {
            new Helper(link, batch, time).thread.start();
            return true;
        } catch (OutOfMemoryError e) {
            // No room for a thread: the caller moves the bytes alone.
            synchronized (this) {
                alive--;
            }
            return false;
        }
    }

    private synchronized boolean park(Helper helper) {
        if (closed) {
            alive--;
            return false;
        }
        parked[parkedCount++] = helper;
        return true;
    }

    /** Whether the helper may end: nobody has called it. */
    private synchronized boolean retire(Helper helper) {
        for (int i = 0; i < parkedCount; i++) {
            if (parked[i] == helper) {
                parked[i] = parked[--parkedCount];
                parked[parkedCount] = null;
                alive--;
                return true;
            }
        }
        return false;
    }

    /** Parked helpers end now, others after their batch. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            for (int i = 0; i < parkedCount; i++) {
                Helper helper = parked[i];
                if (helper != null) {
                    LockSupport.unpark(helper.thread);
                }
            }
        }
    }

    private synchronized void lost() {
        alive--;
    }

    private synchronized boolean closed() {
        return closed;
    }

    private final class Helper implements Runnable {
        final Thread thread;
        private @Nullable TcpPeerLink link;
        private @Nullable TransferBatch batch;
        private long time;
        private volatile boolean called = true;

        Helper(TcpPeerLink link, TransferBatch batch, long time) {
            this.link = link;
            this.batch = batch;
            this.time = time;
            this.thread = new Thread(this, "mooncake-transfer");
            thread.setDaemon(true);
        }

        void call(TcpPeerLink nextLink, TransferBatch nextBatch, long nextTime) {
            link = nextLink;
            batch = nextBatch;
            time = nextTime;
            called = true;
            LockSupport.unpark(thread);
        }

        @Override
        public void run() {
            boolean ended = false;
            try {
                work();
                ended = true;
            } finally {
                if (!ended) {
                    // An error of this JVM ends the thread; the batch's caller sees that slices are missing.
                    lost();
                }
            }
        }

        private void work() {
            boolean going = true;
            while (going) {
                TcpPeerLink workLink = link;
                TransferBatch workBatch = batch;
                link = null;
                batch = null;
                called = false;
                if (workLink != null && workBatch != null) {
                    work.help(workLink, workBatch, time);
                }
                going = park(this) && awaitCall();
            }
        }

        private boolean awaitCall() {
            long end = System.nanoTime() + IDLE_NANOS;
            while (!called) {
                long left = end - System.nanoTime();
                if ((left <= 0 || closed()) && retire(this)) {
                    return false;
                }
                LockSupport.parkNanos(this, Math.max(left, 1_000_000));
            }
            return true;
        }
    }
}
