// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.tcp.GonePeers;
import io.mooncake.transfer.tcp.PeerSockets;
import io.mooncake.transfer.tcp.TcpTransport;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** A batch over TCP makes no garbage in steady state: not in its caller, not in helpers, not in the owner's threads. */
final class TcpAllocationTest {
    private static final String SECRET = "the secret of the test cluster";
    private static final int SIZE = 8 << 20;
    private static final int WARM_CALLS = 3000;
    private static final int WARM_LARGE_CALLS = 600;
    /** So few that a round fits between two looks of a timer, on a busy machine too. */
    private static final int CALLS = 10;

    private static final int ROUNDS = 400;

    private final Garbage garbage = new Garbage();
    private final UUID own = UUID.randomUUID();
    private final TransferBatch batch = new TransferBatch();
    private final RemoteHandle[] handles = new RemoteHandle[1];
    private final long[] addresses = new long[1];
    private final long[] sizes = new long[1];

    @Test
    void execute_steady_allocatesNothingOnAnyThread() {
        try (Memory ownerMemory = new Memory(SIZE);
                Memory readerMemory = new Memory(SIZE);
                TransferEngine owner = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
                PeerSockets sockets = new PeerSockets(ClusterKey.ofSecret(SECRET), own, true, new Counters());
                TcpTransport transport = new TcpTransport(
                        sockets,
                        new RegionRegistry(),
                        new Capabilities(new SecureRandom()),
                        SafetyChecks.ALL,
                        new GonePeers(),
                        new PeerConduct(),
                        2,
                        List.of())) {
            int region = owner.registerMemory(ownerMemory.address, SIZE, ownerMemory.guard());
            handles[0] = owner.issueHandle(own, region, 1, 0, SIZE, true, Duration.ofSeconds(60));
            addresses[0] = readerMemory.address;
            for (int size : new int[] {8, 64 << 10, 1 << 20}) {
                assertNoGarbage(transport, owner.address(), false, size);
                assertNoGarbage(transport, owner.address(), true, size);
            }
        }
    }

    private void assertNoGarbage(TcpTransport transport, PeerAddress owner, boolean write, int size) {
        sizes[0] = size;
        boolean large = size > 64 << 10;
        Garbage.Call call = deadline -> run(transport, owner, write, deadline);
        garbage.run(call, large ? WARM_LARGE_CALLS : WARM_CALLS);
        long least = garbage.least(call, CALLS, ROUNDS);
        System.out.println((write ? "write " : "read ") + size + ": bytes allocated in " + CALLS
                + " calls, all threads: " + least);
        assertThat(least).isZero();
    }

    private void run(TcpTransport transport, PeerAddress owner, boolean write, long deadline) {
        batch.reset(write, handles, addresses, sizes, null, null, null, deadline, TransferStatus.TIMEOUT, 2);
        transport.execute(owner, batch);
        garbage.statuses[0] = batch.status(0);
    }
}
