// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Close;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Opened;
import org.jspecify.annotations.Nullable;

/** One access from open to close, over a team that has been gathered for it and is dismissed by it. One thread. */
final class RdmaRound {
    private final RdmaLink link;
    private final RdmaControl questions;
    private final TransferBatch batch;
    private final RdmaAccess access;
    private final RdmaTeam team;

    RdmaRound(RdmaLink link, TransferBatch batch, RdmaAccess access, RdmaTeam team) {
        this.link = link;
        this.questions = link.control();
        this.batch = batch;
        this.access = access;
        this.team = team;
    }

    /** Runs it and gives the connections back; false when the owner did not know them, or none was left. */
    boolean run() throws RdmaFailure {
        boolean ended = false;
        try {
            if (open()) {
                move();
                ended = true;
            }
            return ended && team.isSound();
        } finally {
            if (!ended) {
                team.breakAll(batch);
            }
            team.dismiss(link);
        }
    }

    /** False when the owner does not know the connections any more. */
    private boolean open() throws RdmaFailure {
        byte[] question = RdmaFrameDescriptor.encodeOpen(access.open(batch, team.soundIds()));
        boolean asked = false;
        try {
            Opened opened =
                    decoded(questions.ask(RdmaOwner.OPEN, question, batch.deadlineNanos(), batch.deadlineStatus()));
            asked = true;
            if (opened == null) {
                return false;
            }
            if (!access.granted(batch, opened)) {
                throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
            }
            return true;
        } finally {
            if (!asked) {
                // Whether it was opened is not known.
                abandon(team.soundIds());
            }
        }
    }

    private static @Nullable Opened decoded(byte[] reply) throws RdmaFailure {
        try {
            return RdmaFrameDescriptor.decodeOpened(reply);
        } catch (MooncakeException e) {
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
    }

    private void abandon(long[] connections) {
        questions.tell(
                RdmaOwner.CLOSE,
                RdmaFrameDescriptor.encodeClose(new Close(access.number(), connections, new boolean[0])));
    }

    /** Moves what was granted and has it confirmed. */
    private void move() throws RdmaFailure {
        try {
            team.drive(link, batch, access);
        } catch (RdmaFailure e) {
            // Before the owner hears of it: nothing of ours is on its way any more.
            team.breakAll(batch);
            access.unconfirmed(batch, access.moved(batch), e.status());
            abandon(team.brokenIds());
            throw e;
        }
        boolean[] moved = access.moved(batch);
        TransferStatus[] confirmation;
        try {
            byte[] reply = questions.ask(
                    RdmaOwner.CLOSE,
                    RdmaFrameDescriptor.encodeClose(new Close(access.number(), team.brokenIds(), moved)),
                    batch.deadlineNanos(),
                    batch.deadlineStatus());
            confirmation = RdmaFrameDescriptor.decodeClosed(reply);
        } catch (RdmaFailure e) {
            access.unconfirmed(batch, moved, e.status());
            throw e;
        } catch (MooncakeException e) {
            access.unconfirmed(batch, moved, TransferStatus.PEER_UNREACHABLE);
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
        access.confirmed(batch, moved, confirmation);
        if (confirmation.length == 0) {
            // The owner has cut the access, and with it the queue pairs at its end.
            team.breakAll(batch);
        }
    }
}
