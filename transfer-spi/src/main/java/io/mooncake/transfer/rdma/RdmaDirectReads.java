// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import org.jspecify.annotations.Nullable;

/**
 * Reads of leased ranges without a word to the owner: a READ a slice, with keys that are known, judged by the checksums of the lease and
 * its term.
 *
 * <p>That is enough because the owner keeps a leased range as it is until the lease has ended by its own clock, which is later than by the
 * reader's; what it must have back earlier ends the keys in its devices. Whatever is not as expected (a key that the device refuses, bytes
 * that do not match) stays without a status, and goes again under an access, whose owner says why. Reused by one thread; allocates only
 * when a region is new or something breaks.
 */
final class RdmaDirectReads implements RdmaReach {
    private static final PeerRegion[] NONE = {};
    /** In a row without a byte; then the owner is asked. */
    private static final int MAX_BARREN_ROUNDS = 2;

    private final RdmaTeam team = new RdmaTeam();
    private PeerRegion[] known = NONE;
    private @Nullable PeerRegion last;
    private @Nullable PeerRegions regions;
    private @Nullable TransferBatch running;
    private boolean doubted;
    /** In this round; then it takes nothing more. */
    private boolean refused;

    private int retriedSlices;

    /**
     * Reads what can be read so, over connections of {@code link}; what is left without a status is the owner's to judge. Only for batches
     * of leased reads that are verified.
     *
     * @return slices that were moved again because something broke
     */
    int run(RdmaLink link, TransferBatch batch, int wanted, boolean demanded) throws RdmaFailure {
        running = batch;
        regions = link.regions();
        doubted = false;
        retriedSlices = 0;
        try {
            int barren = 0;
            while (barren < MAX_BARREN_ROUNDS && !batch.done() && round(link, batch, wanted, demanded)) {
                barren = team.movedBytes() > 0 ? 0 : barren + 1;
            }
            return retriedSlices;
        } finally {
            running = null;
            regions = null;
            known = NONE;
            last = null;
            // Also for another transport, where this one goes no further.
            batch.bringBack();
            if (doubted) {
                reopenDoubted(batch);
            }
        }
    }

    /** Whether another one may bring what this one has not: something came, or keys or connections broke of which it may have new ones. */
    private boolean round(RdmaLink link, TransferBatch batch, int wanted, boolean demanded) throws RdmaFailure {
        refused = false;
        // First: who waits for the owner's answer holds no connections that others wait for.
        if (!learnt(link.regions(), batch)) {
            return false;
        }
        team.gather(link, wanted, demanded, batch);
        boolean ended = false;
        boolean broken = true;
        try {
            team.drive(link, batch, this);
            ended = true;
            broken = !team.isSound();
        } finally {
            if (!ended) {
                team.breakAll(batch);
            }
            team.dismiss(link);
            retriedSlices += team.retriedSlices();
        }
        return broken || refused || team.movedBytes() > 0;
    }

    /** Whether all regions of the requests are known now. */
    private boolean learnt(PeerRegions regions, TransferBatch batch) throws RdmaFailure {
        look(regions);
        boolean news = false;
        for (int i = 0; i < batch.requests(); i++) {
            RemoteHandle handle = batch.handle(i);
            PeerRegion region = find(handle.region());
            if (region == null) {
                if (regions.learn(handle, batch.deadlineNanos(), batch.deadlineStatus()) == null) {
                    return false;
                }
                look(regions);
                news = true;
            } else if (!region.contains(handle.offset(), handle.length())) {
                return false;
            }
        }
        return !news || allKnown(batch);
    }

    /** Another thread may have forgotten one meanwhile. */
    private boolean allKnown(TransferBatch batch) {
        for (int i = 0; i < batch.requests(); i++) {
            RemoteHandle handle = batch.handle(i);
            PeerRegion region = find(handle.region());
            if (region == null || !region.contains(handle.offset(), handle.length())) {
                return false;
            }
        }
        return true;
    }

    private void look(PeerRegions regions) {
        known = regions.all();
        last = null;
    }

    private @Nullable PeerRegion find(int id) {
        PeerRegion region = last;
        if (region == null || region.id() != id) {
            region = PeerRegions.find(known, id);
            last = region;
        }
        return region;
    }

    private PeerRegion require(Slice slice) {
        PeerRegion region = find(slice.handle().region());
        if (region == null) {
            throw new MooncakeException(
                    MooncakeException.Code.INTERNAL, "region " + slice.handle().region() + ": forgotten");
        }
        return region;
    }

    @Override
    public boolean take(TransferBatch batch, Slice slice) {
        // With keys that have ended each slice would cost one connection more.
        return !refused && batch.next(slice);
    }

    @Override
    public long address(Slice slice, long at) {
        return require(slice).address() + slice.handle().offset() + at;
    }

    @Override
    public long bytesInPiece(Slice slice, long at) {
        return require(slice).bytesInPiece(slice.handle().offset() + at);
    }

    @Override
    public int key(Slice slice, long at, int rail) {
        return require(slice).key(rail, slice.handle().offset() + at);
    }

    @Override
    public boolean accuse(Slice slice) {
        PeerRegions learnt = regions;
        if (learnt != null) {
            learnt.forget(require(slice));
        }
        refused = true;
        return true;
    }

    @Override
    public void arrived(Slice slice, boolean asExpected) {
        TransferBatch batch = running;
        if (asExpected && batch != null) {
            batch.unseenByOwner(slice);
        } else {
            doubted = true;
        }
    }

    /** The copies that do not match are made again under an access: the owner knows whether it has the memory for something else. */
    private static void reopenDoubted(TransferBatch batch) {
        for (int i = 0; i < batch.requests(); i++) {
            if (batch.status(i) == TransferStatus.CHECKSUM) {
                batch.reopen(i);
            }
        }
    }
}
