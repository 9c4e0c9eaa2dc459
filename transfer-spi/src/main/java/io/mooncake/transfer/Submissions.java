// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.TransferEngine.ReadRequest;
import io.mooncake.transfer.internal.AsyncTransfers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Asynchronous batches: groups what a ticket can run as one batch, and hands it to the threads. */
final class Submissions implements AutoCloseable {
    private final Transfers transfers;
    private final AsyncTransfers threads = new AsyncTransfers();

    Submissions(Transfers transfers) {
        this.transfers = transfers;
    }

    /** What of a ticket runs as one batch; deadlines are compared by identity. */
    private record Group(PeerAddress peer, boolean write, Deadline deadline) {}

    TransferTicket submit(List<TransferOperation> operations) {
        Map<Group, List<Integer>> groups = new LinkedHashMap<>();
        for (int i = 0; i < operations.size(); i++) {
            TransferOperation one = operations.get(i);
            groups.computeIfAbsent(new Group(one.peer(), one.write(), one.deadline()), key -> new ArrayList<>())
                    .add(i);
        }
        List<AsyncTransfers.Part> parts = new ArrayList<>(groups.size());
        groups.forEach((group, members) -> parts.add(part(group, members, operations)));
        return threads.start(operations.size(), parts);
    }

    private AsyncTransfers.Part part(Group group, List<Integer> members, List<TransferOperation> operations) {
        int count = members.size();
        int[] indexes = new int[count];
        long[] addresses = new long[count];
        long[] sizes = new long[count];
        RemoteHandle[] handles = new RemoteHandle[count];
        for (int i = 0; i < count; i++) {
            TransferOperation one = operations.get(members.get(i));
            indexes[i] = members.get(i);
            addresses[i] = one.localAddress();
            sizes[i] = one.size();
            handles[i] = one.handle();
        }
        Transfers.Workspace workspace = new Transfers.Workspace();
        transfers.resetRaw(workspace.batch, group.write, addresses, handles, sizes, transfers.nanosOf(group.deadline));
        return new AsyncTransfers.Part(group.peer.incarnation(), indexes, workspace.batch, () -> {
            TransferStatus[] statuses = new TransferStatus[count];
            transfers.run(group.peer, workspace, addresses, sizes, statuses);
            return statuses;
        });
    }

    TransferTicket submitRead(RemoteLease lease, List<ReadRequest> requests, Deadline deadline) {
        LeasedRead read = transfers.prepare(lease, requests);
        int[] indexes = new int[requests.size()];
        Arrays.setAll(indexes, i -> i);
        AsyncTransfers.Part part = new AsyncTransfers.Part(
                lease.peer().incarnation(), indexes, read.start(transfers.nanosOf(deadline)), () -> {
                    TransferStatus[] statuses = new TransferStatus[indexes.length];
                    read.finish(statuses);
                    return statuses;
                });
        return threads.start(indexes.length, List.of(part));
    }

    List<PeerQueue> queues() {
        return threads.queues();
    }

    @Override
    public void close() {
        threads.close();
    }
}
