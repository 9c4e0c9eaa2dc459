// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.sun.management.ThreadMXBean;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * A transfer makes no garbage in steady state, neither in its caller nor on any thread of the two engines. What those threads make by
 * the clock (timers, probes) is not a transfer's: of several rounds the best one counts, and it must be nothing at all.
 */
final class AllocationTest {
    private static final int SIZE = 8 << 20;
    private static final int BLOCK = 1 << 20;
    private static final int WARM_CALLS = 3000;
    private static final int WARM_BLOCKS = 400;
    private static final int CALLS = 100;
    /** So few that a round fits between two looks of a timer. */
    private static final int BLOCK_CALLS = 10;

    private static final int ROUNDS = 40;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final TransferStatus[] statuses = new TransferStatus[1];

    /** One transfer. */
    private interface Call {
        void run(long deadlineNanos);
    }

    @Test
    void tcp_steady_allocatesNothing() {
        assertNoGarbage(TransferProtocol.TCP, null, false);
    }

    @Test
    void sharedMemory_steady_allocatesNothing() {
        assumeThat(NativeBridge.available()).as("native bridge").isTrue();
        assertNoGarbage(TransferProtocol.AUTO, SharedFile.DEFAULT_FOLDER, false);
    }

    @Test
    void toItself_steady_allocatesNothing() {
        assertNoGarbage(TransferProtocol.AUTO, null, true);
    }

    private void assertNoGarbage(TransferProtocol protocol, @Nullable Path folder, boolean itself) {
        TransferEngineConfig config = TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(protocol)
                .maxLeaseMillis(60_000)
                .build();
        try (Memory theirs = new Memory(SIZE, folder);
                Memory ours = new Memory(SIZE, folder);
                TransferEngine owner = TransferEngine.start(config);
                TransferEngine other = itself ? null : TransferEngine.start(config)) {
            TransferEngine reader = other == null ? owner : other;
            int region = theirs.register(owner);
            ours.register(reader);
            TestLeases leases = new TestLeases(theirs, region);
            leases.put(1, 0, BLOCK, 64 << 10);
            owner.serveLeases(leases);
            String way = reader.path(owner.address(), soon()).reads() + " ";
            for (int size : new int[] {8, 4096, BLOCK}) {
                assertNone(way + "read " + size, size, raw(owner, reader, region, ours, size, false));
                assertNone(way + "write " + size, size, raw(owner, reader, region, ours, size, true));
            }
            leases.put(1, 0, BLOCK, 64 << 10);
            try (RemoteLease lease =
                    reader.lease(owner.address(), "pool", List.of(TestLeases.key(1)), Duration.ofSeconds(60), soon())) {
                PreparedRead prepared =
                        reader.prepareRead(lease, List.of(new TransferEngine.ReadRequest(0, ours.address)));
                assertNone(way + "leased read " + BLOCK, BLOCK, deadline -> prepared.run(statuses, deadline));
            }
        }
    }

    private Call raw(TransferEngine owner, TransferEngine reader, int region, Memory ours, int size, boolean write) {
        RemoteHandle[] handles = {
            owner.issueHandle(reader.incarnation(), region, 1, 0, size, write, Duration.ofSeconds(60))
        };
        long[] addresses = {ours.address};
        long[] sizes = {size};
        PeerAddress peer = owner.address();
        return write
                ? deadline -> reader.batchTransferSyncWrite(peer, addresses, handles, sizes, statuses, deadline)
                : deadline -> reader.batchTransferSyncRead(peer, addresses, handles, sizes, statuses, deadline);
    }

    private void assertNone(String what, int size, Call call) {
        run(call, size < BLOCK ? WARM_CALLS : WARM_BLOCKS);
        int calls = size < BLOCK ? CALLS : BLOCK_CALLS;
        long self = Thread.currentThread().getId();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS && least > 0; round++) {
            Map<Long, Long> before = allocatedByOthers(self);
            long beforeSelf = threads.getThreadAllocatedBytes(self);
            run(call, calls);
            long afterSelf = threads.getThreadAllocatedBytes(self);
            least = Math.min(least, grown(before, allocatedByOthers(self)) + afterSelf - beforeSelf);
        }
        System.out.println(what + ": bytes allocated in " + calls + " calls, all threads: " + least);
        assertThat(least).as(what).isZero();
    }

    private void run(Call call, int calls) {
        for (int i = 0; i < calls; i++) {
            call.run(System.nanoTime() + 20_000_000_000L);
            if (statuses[0] != TransferStatus.COMPLETED) {
                throw new AssertionError(statuses[0]);
            }
        }
    }

    /** By thread; one that ends meanwhile takes nothing off. */
    private Map<Long, Long> allocatedByOthers(long self) {
        Map<Long, Long> bytes = new HashMap<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getId() != self && thread.getName().startsWith("mooncake-")) {
                bytes.put(thread.getId(), threads.getThreadAllocatedBytes(thread.getId()));
            }
        }
        return bytes;
    }

    private static long grown(Map<Long, Long> before, Map<Long, Long> after) {
        return after.entrySet().stream()
                .mapToLong(one -> Math.max(0, one.getValue() - before.getOrDefault(one.getKey(), 0L)))
                .sum();
    }
}
