// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.PeerAddress;
import java.util.UUID;

/** One way to move a batch between this process and a peer. */
public interface Transport extends AutoCloseable {
    /**
     * Runs the batch to its end. When it returns, every request has a status and no byte can arrive in, or leave from, local memory for it
     * any more; that is at most a scheduling delay after the batch's deadline.
     */
    void execute(PeerAddress peer, TransferBatch batch);

    /** Closes the connections whose transfers touch {@code region} now. */
    void cut(Region region);

    /** Ends everything with that life of a peer. */
    void peerGone(UUID incarnation);

    @Override
    void close();
}
