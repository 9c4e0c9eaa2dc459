// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PeerAddress;
import org.jspecify.annotations.Nullable;

/** A transport that not every peer has, and that may turn a batch down so that it goes another way. */
public interface OptionalTransport extends Transport {
    /**
     * As {@link #execute}, but what this transport can't do for want of a way has no status then, and may be moved by another transport:
     * nothing of it can arrive this way any more.
     *
     * @return why there are such requests, or null when each has its status
     */
    @Nullable
    Declined attempt(PeerAddress peer, TransferBatch batch);

    /** Connects unless that has been done; why the peer can't be reached this way, or null when it can. */
    @Nullable
    Declined probe(PeerAddress peer, Deadline deadline);

    /** The devices, for people. */
    String describe();

    /**
     * Why a batch was turned down.
     *
     * @param reason for people
     * @param peer whether it concerns the peer as a whole, so that other batches would fare likewise
     */
    record Declined(String reason, boolean peer) {}
}
