// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.transfer.internal.LeaseFrameDescriptor.Reply;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The reader's side of a lease. The term counts from before the request was sent, so it ends here before it ends at the owner. */
final class ReaderLease implements RemoteLease {
    private final PeerAddress peer;
    private final long id;
    private final List<@Nullable Element> elements;
    private final BitSet deferred;
    private final long endNanos;
    private final LongSupplier nanoClock;
    private final LeaseReleaser releaser;
    private final AtomicLong copiedBytes = new AtomicLong();
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Tells the owner. */
    @FunctionalInterface
    interface LeaseReleaser {
        void release(PeerAddress peer, long lease, long copiedBytes);
    }

    /** @param nanoClock monotonic nanoseconds, as {@code askedAtNanos} */
    ReaderLease(PeerAddress peer, Reply reply, long askedAtNanos, LongSupplier nanoClock, LeaseReleaser releaser) {
        this.peer = peer;
        this.id = reply.lease();
        this.elements = reply.elements();
        this.deferred = reply.deferred();
        this.endNanos = askedAtNanos + reply.termNanos();
        this.nanoClock = nanoClock;
        this.releaser = releaser;
    }

    long endNanos() {
        return endNanos;
    }

    /** Bytes were copied out of the owner's mapped memory under this lease. */
    void copied(long bytes) {
        copiedBytes.addAndGet(bytes);
    }

    boolean closed() {
        return closed.get();
    }

    @Override
    public PeerAddress peer() {
        return peer;
    }

    @Override
    public int size() {
        return elements.size();
    }

    @Override
    public @Nullable Element element(int index) {
        return elements.get(index);
    }

    @Override
    public boolean deferred(int index) {
        return deferred.get(index);
    }

    @Override
    public boolean expired() {
        return closed.get() || nanoClock.getAsLong() - endNanos >= 0;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            releaser.release(peer, id, copiedBytes.get());
        }
    }
}
