// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.TransferEngine.ReadRequest;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** A leased read in the arrays that a batch wants, made once. */
final class LeasedRead implements PreparedRead {
    final ReaderLease lease;
    final RemoteHandle[] handles;
    final long[] targets;
    final long[] sizes;
    final int[] segments;
    final int[][] checksums;
    final long[] generationOffsets;
    private final Transfers transfers;
    private final Transfers.Workspace workspace = new Transfers.Workspace();
    private final AtomicBoolean running = new AtomicBoolean();

    LeasedRead(Transfers transfers, ReaderLease lease, List<ReadRequest> requests) {
        this.transfers = transfers;
        this.lease = lease;
        int count = requests.size();
        handles = new RemoteHandle[count];
        targets = new long[count];
        sizes = new long[count];
        segments = new int[count];
        checksums = new int[count][];
        generationOffsets = new long[count];
        for (int i = 0; i < count; i++) {
            ReadRequest request = requests.get(i);
            boolean asked = request.element() >= 0 && request.element() < lease.size();
            RemoteLease.Element element = asked ? lease.element(request.element()) : null;
            if (element == null) {
                throw MooncakeException.invalid("element", request.element(), "one that was granted");
            }
            handles[i] = element.handle();
            targets[i] = request.localAddress();
            sizes[i] = element.handle().length();
            segments[i] = element.segmentLength();
            checksums[i] = element.checksums();
            generationOffsets[i] = element.generationOffset();
        }
    }

    @Override
    public int size() {
        return sizes.length;
    }

    @Override
    public void run(TransferStatus[] statuses, long deadlineNanos) {
        if (!running.compareAndSet(false, true)) {
            throw new MooncakeException(
                    MooncakeException.Code.ILLEGAL_STATE,
                    "prepared read: runs on two threads (expected: one at a time)");
        }
        try {
            start(deadlineNanos);
            finish(statuses);
        } finally {
            running.set(false);
        }
    }

    /** Makes the batch; what an asynchronous caller may cancel from now on. */
    io.mooncake.transfer.internal.TransferBatch start(long deadlineNanos) {
        transfers.resetLeased(this, workspace.batch, deadlineNanos);
        return workspace.batch;
    }

    /** Runs what was started. */
    void finish(TransferStatus[] statuses) {
        transfers.run(this, workspace, statuses);
    }
}
