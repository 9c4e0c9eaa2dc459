// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.PreparedRead;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.RemoteLease;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngine.ReadRequest;
import io.mooncake.transfer.TransferStatus;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The calls that are measured: all that a caller prepares once, handles, leases and arrays, is made before. Rights are asked for again when
 * they are old.
 */
final class EngineCalls {
    private static final int KEYS_A_LEASE = 4_096;
    private static final long FRESH_NANOS = 30_000_000_000L;
    private static final long DEADLINE_NANOS = 60_000_000_000L;

    private final TransferEngine engine;
    private final PeerAddress peer;
    private final BenchMemory memory;
    private final List<RemoteLease> leases = new ArrayList<>();
    private List<Object> prepared = List.of();
    private long preparedAt;
    private Stopwatch.Call call = turn -> {};
    private long deadlineNanos;

    EngineCalls(TransferEngine engine, PeerAddress peer, BenchMemory memory) {
        this.engine = engine;
        this.peer = peer;
        this.memory = memory;
    }

    /** A call that moves {@code batch} ranges of {@code size} bytes, those of turn after turn. */
    Stopwatch.Call prepare(Operation operation, long size, int batch, int spots, long stride) {
        deadlineNanos = System.nanoTime() + DEADLINE_NANOS;
        List<Object> wanted = List.of(operation, size, batch, spots, stride);
        if (!wanted.equals(prepared) || System.nanoTime() - preparedAt > FRESH_NANOS) {
            preparedAt = System.nanoTime();
            prepared = wanted;
            leases.forEach(RemoteLease::close);
            leases.clear();
            call = operation.leased() ? leased(size, batch, spots, stride) : raw(operation, size, batch, spots, stride);
        }
        return call;
    }

    private Stopwatch.Call raw(Operation operation, long size, int batch, int spots, long stride) {
        boolean write = operation == Operation.WRITE;
        RemoteHandle[] handles = HandleFrames.handles(
                engine.control()
                        .request(
                                peer,
                                HandleFrames.SERVICE,
                                HandleFrames.request(size, spots, stride, write),
                                Deadline.ofMillis(10_000))
                        .toCompletableFuture()
                        .join(),
                spots,
                write);
        int groups = Math.max(1, spots / batch);
        long[][] addresses = new long[groups][batch];
        RemoteHandle[][] grouped = new RemoteHandle[groups][batch];
        long[] sizes = new long[batch];
        Arrays.fill(sizes, size);
        for (int group = 0; group < groups; group++) {
            for (int i = 0; i < batch; i++) {
                int spot = (group * batch + i) % spots;
                addresses[group][i] = memory.address + spot * stride;
                grouped[group][i] = handles[spot];
            }
        }
        TransferStatus[] statuses = new TransferStatus[batch];
        return turn -> {
            int group = (int) (turn % groups);
            if (write) {
                engine.batchTransferSyncWrite(peer, addresses[group], grouped[group], sizes, statuses, deadlineNanos);
            } else {
                engine.batchTransferSyncRead(peer, addresses[group], grouped[group], sizes, statuses, deadlineNanos);
            }
            requireCompleted(statuses);
        };
    }

    private Stopwatch.Call leased(long size, int batch, int spots, long stride) {
        // Groups must not straddle leases.
        int aLease = KEYS_A_LEASE / batch * batch;
        List<PreparedRead> groups = new ArrayList<>();
        for (int from = 0; from < spots; from += aLease) {
            int count = Math.min(aLease, spots - from);
            List<byte[]> keys = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                keys.add(BenchLeases.key((from + i) * stride, size));
            }
            RemoteLease lease = engine.lease(peer, "bench", keys, HandleFrames.TERM, Deadline.ofMillis(30_000));
            leases.add(lease);
            for (int first = 0; first + batch <= count; first += batch) {
                List<ReadRequest> group = new ArrayList<>();
                for (int i = first; i < first + batch; i++) {
                    group.add(new ReadRequest(i, memory.address + (from + i) * stride));
                }
                groups.add(engine.prepareRead(lease, group));
            }
        }
        PreparedRead[] reads = groups.toArray(PreparedRead[]::new);
        TransferStatus[] statuses = new TransferStatus[batch];
        return turn -> {
            reads[(int) (turn % reads.length)].run(statuses, deadlineNanos);
            requireCompleted(statuses);
        };
    }

    private static void requireCompleted(TransferStatus[] statuses) {
        for (TransferStatus status : statuses) {
            if (status != TransferStatus.COMPLETED) {
                throw new IllegalStateException("a transfer ended as " + status);
            }
        }
    }
}
