// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.TransferBatch;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ReceiveCreditsTest {
    private static final int SLICE = 1000;

    private final PeerSockets sockets = new PeerSockets(
            ClusterKey.ofSecret("the secret of the test cluster"), UUID.randomUUID(), true, new Counters());
    private final ReceiveCredits credits = new ReceiveCredits(4 * SLICE, SLICE);

    @AfterEach
    void stop() {
        sockets.close();
    }

    private TcpPeerLink link() {
        PeerAddress peer = new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 2, 3);
        return new TcpPeerLink(sockets, peer, List.of(), 2, credits);
    }

    private TcpClientConnection connection(TcpPeerLink link) throws IOException {
        Rail rail = new Rail(0, 1, "127.0.0.1", null);
        return new TcpClientConnection(
                sockets.watchdog(), new PlainChannel(SocketChannel.open()), link, rail, credits, sockets.counters());
    }

    /** One request, of which the deadline's status is LEASE_EXPIRED. */
    private static TransferBatch batch(long deadlineNanos) {
        return new TransferBatch(
                false,
                new RemoteHandle[] {new RemoteHandle(1, 1, 0, 8, false, 0, new byte[32])},
                new long[1],
                new long[] {8},
                null,
                null,
                null,
                deadlineNanos,
                TransferStatus.LEASE_EXPIRED,
                1);
    }

    private static long inMillis(long millis) {
        return System.nanoTime() + millis * 1_000_000;
    }

    private int takeAll(TcpPeerLink link) {
        int taken = 0;
        while (credits.tryTake(link, SLICE)) {
            taken++;
        }
        return taken;
    }

    @Test
    void tryTake_manyPeers_boundsAllTogetherAndLeavesEachASlice() {
        // One is not counted; no peer gets more than three quarters.
        assertThat(takeAll(link())).isEqualTo(3);
        assertThat(takeAll(link())).isEqualTo(3);
        for (int i = 0; i < 10; i++) {
            assertThat(takeAll(link())).isEqualTo(1);
        }
        assertThat(credits.taken()).isEqualTo(4 * SLICE);
    }

    @Test
    void tryTake_manySlowPeers_leaveAGoodOneAllItMayHave() {
        List<TcpPeerLink> slow = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            TcpPeerLink link = link();
            link.arrivedIn(1000, 1_000_000_000L);
            assertThat(takeAll(link)).isEqualTo(1);
            slow.add(link);
        }
        assertThat(credits.taken()).isZero();
        TcpPeerLink good = link();
        assertThat(takeAll(good)).isEqualTo(3);
        slow.get(0).arrivedIn(1 << 20, 1_000_000);
        assertThat(credits.tryTake(slow.get(0), SLICE)).isTrue();
        credits.give(slow.get(0), 2 * SLICE);
        credits.give(good, 3 * SLICE);
        slow.forEach(link -> credits.give(link, link == slow.get(0) ? 0 : SLICE));
        assertThat(credits.taken()).isZero();
    }

    @Test
    void take_noneLeft_endsAtTheDeadline() throws IOException {
        TcpPeerLink link = link();
        credits.tryTake(link, 4 * SLICE);
        assertThat(credits.take(link, connection(link), SLICE, inMillis(50))).isEqualTo(TransferStatus.TIMEOUT);
        credits.give(link, 4 * SLICE);
        assertThat(credits.taken()).isZero();
        assertThat(credits.take(link, connection(link), SLICE, inMillis(50))).isNull();
    }

    @Test
    void take_threadInterrupted_isCanceled() throws IOException {
        TcpPeerLink link = link();
        credits.tryTake(link, 4 * SLICE);
        Thread.currentThread().interrupt();
        assertThat(credits.take(link, connection(link), SLICE, inMillis(5000))).isEqualTo(TransferStatus.CANCELED);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void drive_noCreditByTheDeadline_endsAsTheDeadlineSays() throws IOException {
        TcpPeerLink link = link();
        credits.tryTake(link, 4 * SLICE);
        for (int i = 0; i < 20; i++) {
            TransferBatch batch = batch(inMillis(5));
            connection(link).drive(batch, true);
            assertThat(batch.statuses()).containsExactly(TransferStatus.LEASE_EXPIRED);
        }
        assertThat(credits.taken()).isZero();
    }

    @Test
    void drive_cutWhileItWaitsForCredit_endsAsWhoeverCutItSays() throws IOException {
        TcpPeerLink link = link();
        credits.tryTake(link, 4 * SLICE);
        TcpClientConnection ended = connection(link);
        ended.end();
        TransferBatch batch = batch(inMillis(20_000));
        assertThat(ended.drive(batch, true)).isEqualTo(TcpClientConnection.Outcome.BROKEN);
        assertThat(batch.statuses()).containsExactly(TransferStatus.PEER_UNREACHABLE);

        PeerAddress peer = new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 2, 3, List.of("127.0.0.2"));
        TcpPeerLink railed = new TcpPeerLink(sockets, peer, List.of(), 2, credits);
        credits.tryTake(railed, 4 * SLICE);
        TcpClientConnection stalled = connection(railed);
        stalled.stall();
        TransferBatch other = batch(inMillis(20_000));
        assertThat(stalled.drive(other, true)).isEqualTo(TcpClientConnection.Outcome.RAIL_FAILED);
        assertThat(other.done()).isFalse();
        assertThat(credits.taken()).isZero();
    }

    @Test
    void take_severalWait_areServedInTheirOrder() throws Exception {
        TcpPeerLink link = link();
        credits.tryTake(link, 5 * SLICE);
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int number = i;
            TcpClientConnection waiter = connection(link);
            Thread thread = new Thread(() -> {
                if (credits.take(link, waiter, 2 * SLICE, inMillis(20_000)) == null) {
                    order.add(number);
                    credits.give(link, 2 * SLICE);
                }
            });
            thread.start();
            threads.add(thread);
            while (thread.getState() != Thread.State.TIMED_WAITING) {
                Thread.sleep(1);
            }
        }
        // Below the limit of one peer by one slice, the first in the queue gets two on credit.
        credits.give(link, 3 * SLICE);
        for (Thread thread : threads) {
            thread.join(20_000);
        }
        assertThat(order).containsExactly(0, 1, 2);
        assertThat(credits.taken()).isZero();
    }
}
