// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.rdma.RdmaRegionFrameDescriptor.Known;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What this engine has learnt of the regions of one life of a peer. The owner is asked once a region, with a handle that it verifies; it
 * keeps nothing of the answer. Look-ups scan an array that writers replace.
 */
final class PeerRegions {
    /** Then the oldest is forgotten; as many as a peer has at a time. */
    private static final int MAX_REGIONS = 1024;

    /** How long it is believed that a region is not reached this way. */
    private static final long UNREACHED_NANOS = 1_000_000_000L;

    private final RdmaControl control;
    private volatile PeerRegion[] known = new PeerRegion[0];
    private volatile int unreached;
    private volatile long unreachedUntilNanos;

    PeerRegions(RdmaControl control) {
        this.control = control;
    }

    /** All of them now. */
    PeerRegion[] all() {
        return known;
    }

    static @Nullable PeerRegion find(PeerRegion[] among, int id) {
        for (PeerRegion one : among) {
            if (one.id() == id) {
                return one;
            }
        }
        return null;
    }

    /** Asks for a handle's region; null when the owner grants nothing for the handle, or its devices do not have the region. */
    @Nullable
    PeerRegion learn(RemoteHandle handle, long deadlineNanos, TransferStatus deadlineStatus) throws RdmaFailure {
        if (handle.region() == unreached && System.nanoTime() - unreachedUntilNanos < 0) {
            return null;
        }
        byte[] reply = control.ask(
                RdmaOwner.REGION, RdmaRegionFrameDescriptor.encodeAsk(handle), deadlineNanos, deadlineStatus);
        Known answer;
        try {
            answer = RdmaRegionFrameDescriptor.decodeKnown(reply, handle.region());
        } catch (MooncakeException e) {
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
        PeerRegion region = answer.region();
        if (region == null || !region.contains(handle.offset(), handle.length())) {
            if (answer.status() == RdmaAccess.NOT_THIS_WAY) {
                unreachedUntilNanos = System.nanoTime() + UNREACHED_NANOS;
                unreached = handle.region();
            }
            return null;
        }
        add(region);
        return region;
    }

    private synchronized void add(PeerRegion region) {
        PeerRegion[] others = without(region.id());
        int dropped = Math.max(0, others.length + 1 - MAX_REGIONS);
        PeerRegion[] next = Arrays.copyOfRange(others, dropped, others.length + 1);
        next[next.length - 1] = region;
        known = next;
    }

    /** The device has refused a key of it, so the owner is to be asked again. What another thread has learnt meanwhile stays. */
    synchronized void forget(PeerRegion region) {
        if (find(known, region.id()) == region) {
            known = without(region.id());
        }
    }

    private PeerRegion[] without(int id) {
        return Arrays.stream(known).filter(one -> one.id() != id).toArray(PeerRegion[]::new);
    }
}
