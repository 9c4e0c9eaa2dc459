// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.transfer.internal.Claim;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Open;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** An access at its owner, and what it holds until whoever took it out of the owner's table releases it. */
final class OpenAccess {
    final Open open;
    final @Nullable Region[] held;
    volatile @Nullable ScheduledFuture<?> cut;
    private final OfPeer ofPeer;

    /** What all open accesses of a peer come to. */
    static final class OfPeer {
        private final AtomicInteger accesses = new AtomicInteger();
        private final AtomicInteger requests = new AtomicInteger();
    }

    /** @param ofPeer {@link #admit} counts this one in it */
    OpenAccess(Open open, OfPeer ofPeer) {
        this.open = open;
        this.held = new Region[open.handles().length];
        this.ofPeer = ofPeer;
    }

    /** Counts it and its requests; false, and they don't count, when the peer would have more than so many of either. */
    boolean admit(int mostAccesses, int mostRequests) {
        boolean few = ofPeer.accesses.incrementAndGet() <= mostAccesses;
        if (ofPeer.requests.addAndGet(held.length) > mostRequests || !few) {
            discount();
            return false;
        }
        return true;
    }

    private void discount() {
        ofPeer.accesses.decrementAndGet();
        ofPeer.requests.addAndGet(-held.length);
    }

    Claim claim(int index) {
        return new Claim().of(open.handles()[index], open.write(), 0, open.sizes()[index]);
    }

    boolean touches(Region region) {
        for (Region one : held) {
            if (one == region) {
                return true;
            }
        }
        return false;
    }

    /** After {@link #admit}, once. */
    void release() {
        ScheduledFuture<?> timer = cut;
        if (timer != null) {
            timer.cancel(false);
        }
        for (Region one : held) {
            if (one != null) {
                one.release();
            }
        }
        discount();
    }
}
