// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
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
    /** So few that a round fits between two looks of a timer, on a busy machine too. */
    private static final int CALLS = 10;

    private static final int ROUNDS = 400;

    private final Garbage garbage = new Garbage();

    @Test
    void tcp_steady_allocatesNothing() {
        assertNoGarbage(TransferProtocol.TCP, null, false);
    }

    @Test
    void sharedMemory_steady_allocatesNothing() {
        assumeTrue(NativeBridge.available(), "native bridge");
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
                assertNone(way + "leased read " + BLOCK, BLOCK, deadline -> prepared.run(garbage.statuses, deadline));
            }
        }
    }

    private Garbage.Call raw(
            TransferEngine owner, TransferEngine reader, int region, Memory ours, int size, boolean write) {
        RemoteHandle[] handles = {
            owner.issueHandle(reader.incarnation(), region, 1, 0, size, write, Duration.ofSeconds(60))
        };
        long[] addresses = {ours.address};
        long[] sizes = {size};
        PeerAddress peer = owner.address();
        return write
                ? deadline -> reader.batchTransferSyncWrite(peer, addresses, handles, sizes, garbage.statuses, deadline)
                : deadline -> reader.batchTransferSyncRead(peer, addresses, handles, sizes, garbage.statuses, deadline);
    }

    private void assertNone(String what, int size, Garbage.Call call) {
        garbage.run(call, size < BLOCK ? WARM_CALLS : WARM_BLOCKS);
        long least = garbage.least(call, CALLS, ROUNDS);
        System.out.println(what + ": bytes allocated in " + CALLS + " calls, all threads: " + least);
        assertThat(least).as(what).isZero();
    }
}
