// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RailStatistics;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.TransferProtocol;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Batches whose memory is near one of three addresses of the engine. */
final class TcpRailPreferenceTest {
    private static final String SECRET = "the secret of the test cluster";
    private static final List<String> HOSTS = List.of("127.0.0.1", "127.0.0.2", "127.0.0.3");
    private static final int SIZE = 4 << 20;
    private static final UUID SELF = UUID.randomUUID();

    private final ByteBuffer ownerBytes = ByteBuffer.allocateDirect(SIZE);
    private final ByteBuffer ownBytes = ByteBuffer.allocateDirect(SIZE);
    private final PeerSockets sockets = new PeerSockets(ClusterKey.ofSecret(SECRET), SELF, true, new Counters());
    private TransferEngine owner;
    private RemoteHandle handle;
    private TcpTransport transport;

    @BeforeEach
    void start() throws ReflectiveOperationException, UnknownHostException {
        owner = TransferEngine.start(TransferEngineConfig.builder(HOSTS.get(0), SECRET)
                .protocol(TransferProtocol.TCP)
                .rails(HOSTS.subList(1, 3))
                .build());
        int region = owner.registerMemory(address(ownerBytes), SIZE, (offset, length, generation) -> generation == 1);
        handle = owner.issueHandle(SELF, region, 1, 0, SIZE, true, Duration.ofSeconds(60));
        List<InetAddress> local = new ArrayList<>();
        for (String host : HOSTS) {
            local.add(InetAddress.getByName(host));
        }
        transport = new TcpTransport(
                sockets,
                new RegionRegistry(),
                new Capabilities(new SecureRandom()),
                SafetyChecks.ALL,
                new GonePeers(),
                new PeerConduct(),
                2,
                local);
    }

    @AfterEach
    void stop() {
        transport.close();
        sockets.close();
        owner.close();
    }

    private static long address(ByteBuffer buffer) throws ReflectiveOperationException {
        java.lang.reflect.Field address = java.nio.Buffer.class.getDeclaredField("address");
        address.setAccessible(true);
        return (long) address.get(buffer);
    }

    /** Bytes that each rail carried for a batch that prefers those addresses. */
    private long[] move(PeerAddress peer, boolean write, int preferred) throws ReflectiveOperationException {
        long[] before = bytes(peer);
        TransferBatch batch = new TransferBatch(
                write,
                new RemoteHandle[] {handle},
                new long[] {address(ownBytes)},
                new long[] {SIZE},
                null,
                null,
                null,
                System.nanoTime() + 20_000_000_000L,
                TransferStatus.TIMEOUT,
                2);
        batch.prefer(preferred, Region.ANY_RAIL);
        transport.execute(peer, batch);
        assertThat(batch.statuses()).containsExactly(TransferStatus.COMPLETED);
        long[] moved = bytes(peer);
        for (int i = 0; i < moved.length; i++) {
            moved[i] -= before[i];
        }
        return moved;
    }

    private long[] bytes(PeerAddress peer) {
        List<RailStatistics> rails = transport.rails(peer.incarnation());
        return rails.isEmpty()
                ? new long[HOSTS.size()]
                : rails.stream().mapToLong(RailStatistics::bytes).toArray();
    }

    /** Until that rail alone carries the batch: a first connect that takes long makes its rail rest. */
    private void awaitRail(int rail) throws ReflectiveOperationException {
        long until = System.nanoTime() + 60_000_000_000L;
        while (move(owner.address(), false, 1 << rail)[rail] != SIZE) {
            assertThat(System.nanoTime()).as("rail %d", rail).isLessThan(until);
            LockSupport.parkNanos(10_000_000);
        }
    }

    @Test
    void execute_oneOrTwoPreferredRails_carryAllBytes() throws ReflectiveOperationException {
        for (int rail = 0; rail < HOSTS.size(); rail++) {
            awaitRail(rail);
        }
        for (boolean write : new boolean[] {false, true}) {
            for (int round = 0; round < 5; round++) {
                assertThat(move(owner.address(), write, 0b001)).containsExactly(SIZE, 0, 0);
                assertThat(move(owner.address(), write, 0b100)).containsExactly(0, 0, SIZE);
                assertThat(move(owner.address(), write, 0b011)[2]).isZero();
            }
        }
        // Without a preference each is used, now or soon.
        long[] all = new long[HOSTS.size()];
        for (int round = 0; round < 200 && !(all[0] > 0 && all[1] > 0 && all[2] > 0); round++) {
            long[] moved = move(owner.address(), false, Region.ANY_RAIL);
            for (int i = 0; i < all.length; i++) {
                all[i] += moved[i];
            }
        }
        assertThat(all).doesNotContain(0);
    }

    @Test
    void execute_preferredRailLeadsNowhere_goesByTheOthers() throws ReflectiveOperationException {
        PeerAddress real = owner.address();
        // Nobody listens there.
        PeerAddress peer = new PeerAddress(
                real.incarnation(),
                real.host(),
                real.dataPort(),
                real.controlPort(),
                real.eventPort(),
                List.of("127.0.0.77", HOSTS.get(2)));
        long[] moved = move(peer, false, 0b010);
        assertThat(moved[1]).isZero();
        assertThat(moved[0] + moved[2]).isEqualTo(SIZE);
        assertThat(transport.rails(peer.incarnation()).get(1).failures()).isPositive();
    }
}
