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

/** A transfer that fails by an error of this JVM, such as too little direct memory, is over when the call is. */
final class LeaderFailureTest {
    private static final String SECRET = "the secret of the test cluster";
    private static final int SIZE = 256 << 20;
    private static final int ATTEMPTS = 12;

    @Test
    @SuppressWarnings("NullAway") // The null is what fails.
    void execute_callingThreadThrows_returnsWhenHelpersHaveLeftTheMemory() throws InterruptedException {
        UUID own = UUID.randomUUID();
        Counters counters = new Counters();
        try (Memory ownerMemory = new Memory(SIZE);
                Memory readerMemory = new Memory(SIZE);
                TransferEngine owner = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
                PeerSockets sockets = new PeerSockets(ClusterKey.ofSecret(SECRET), own, true, counters);
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
            RemoteHandle handle = owner.issueHandle(own, region, 1, 0, SIZE, false, Duration.ofSeconds(30));
            int thrown = 0;
            for (int i = 0; i < ATTEMPTS; i++) {
                // Whoever comes to the second request fails; both have a share of the first by then, most times.
                TransferBatch batch = new TransferBatch(
                        false,
                        new RemoteHandle[] {handle, null, handle},
                        new long[] {readerMemory.address, readerMemory.address, readerMemory.address},
                        new long[] {8 << 20, 1, SIZE},
                        null,
                        null,
                        null,
                        System.nanoTime() + Duration.ofSeconds(20).toNanos(),
                        TransferStatus.TIMEOUT,
                        2);
                try {
                    transport.execute(owner.address(), batch);
                } catch (IllegalStateException e) {
                    thrown++;
                }
                long atReturn = counters.readTcp.sum();
                Thread.sleep(20);
                assertThat(counters.readTcp.sum()).isEqualTo(atReturn);
            }
            assertThat(thrown).isPositive();
        }
    }
}
