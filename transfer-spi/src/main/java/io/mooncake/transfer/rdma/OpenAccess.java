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
    private final AtomicInteger ofPeer;

    /** @param ofPeer requests in all accesses of the peer; {@link #admit} counts this one's among them */
    OpenAccess(Open open, AtomicInteger ofPeer) {
        this.open = open;
        this.held = new Region[open.handles().length];
        this.ofPeer = ofPeer;
    }

    /** Counts its requests; false, and they don't count, when the peer would have more than {@code most}. */
    boolean admit(int most) {
        if (ofPeer.addAndGet(held.length) > most) {
            ofPeer.addAndGet(-held.length);
            return false;
        }
        return true;
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
        ofPeer.addAndGet(-held.length);
    }
}
