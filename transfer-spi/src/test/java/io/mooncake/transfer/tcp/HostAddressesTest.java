// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A resolver that takes its time costs its callers theirs and no more. */
final class HostAddressesTest {
    private static final long SECOND = 1_000_000_000L;

    private final AtomicInteger asked = new AtomicInteger();
    private final CountDownLatch answer = new CountDownLatch(1);
    private final HostAddresses slow = new HostAddresses(host -> {
        asked.incrementAndGet();
        try {
            answer.await();
        } catch (InterruptedException e) {
            throw new UnknownHostException("interrupted");
        }
        if (host.startsWith("no")) {
            throw new UnknownHostException(host);
        }
        return InetAddress.getByAddress(host, new byte[] {127, 0, 0, 9});
    });

    @AfterEach
    void stop() {
        answer.countDown();
        slow.close();
    }

    private InetAddress address(String host, long nanos) throws HandshakeException {
        return slow.address(host, System.nanoTime() + nanos, () -> false);
    }

    private static void assertFails(ThrowingCallable call, TransferStatus status) {
        assertThatThrownBy(call).isInstanceOfSatisfying(HandshakeException.class, e -> assertThat(e.status())
                .isEqualTo(status));
    }

    @Test
    void address_slowResolver_endsByTheDeadlineAndTheAnswerServesLaterCalls() throws Exception {
        long before = System.nanoTime();
        assertFails(() -> address("host", SECOND / 10), TransferStatus.TIMEOUT);
        assertFails(() -> address("host", SECOND / 10), TransferStatus.TIMEOUT);
        assertThat(System.nanoTime() - before).isLessThan(5 * SECOND);
        answer.countDown();
        assertThat(address("host", 20 * SECOND).getHostAddress()).isEqualTo("127.0.0.9");
        // Both calls waited for one question, and what was found needs none.
        assertThat(address("host", -1).getHostAddress()).isEqualTo("127.0.0.9");
        assertThat(asked).hasValue(1);
    }

    @Test
    void address_literal_asksNobody() throws Exception {
        assertThat(address("10.1.2.3", -1).getHostAddress()).isEqualTo("10.1.2.3");
        assertThat(address("::1", -1).isLoopbackAddress()).isTrue();
        assertFails(() -> address("1::2::3", SECOND), TransferStatus.PEER_UNREACHABLE);
        assertThat(asked).hasValue(0);
    }

    @Test
    void address_unknownHost_isUnreachableAndAskedForAgain() {
        answer.countDown();
        assertFails(() -> address("nowhere", 20 * SECOND), TransferStatus.PEER_UNREACHABLE);
        assertFails(() -> address("nowhere", 20 * SECOND), TransferStatus.PEER_UNREACHABLE);
        assertThat(asked).hasValueBetween(1, 2);
    }

    @Test
    void address_callerGivesUpOrIsInterrupted_endsAtOnce() throws Exception {
        AtomicBoolean abandoned = new AtomicBoolean();
        FutureTask<InetAddress> waiting =
                new FutureTask<>(() -> slow.address("host", System.nanoTime() + 60 * SECOND, abandoned::get));
        new Thread(waiting).start();
        abandoned.set(true);
        assertThatThrownBy(() -> waiting.get(20, TimeUnit.SECONDS)).hasCauseInstanceOf(HandshakeException.class);
        Thread.currentThread().interrupt();
        assertFails(() -> address("host", 60 * SECOND), TransferStatus.CANCELED);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void address_manyNames_areAskedForWithinBounds() {
        List<String> hosts = new ArrayList<>();
        for (int i = 0; i < HostAddresses.MAX_QUESTIONS; i++) {
            hosts.add("host" + i);
        }
        hosts.forEach(host -> assertFails(() -> address(host, 1), TransferStatus.TIMEOUT));
        assertFails(() -> address("one-more", 20 * SECOND), TransferStatus.PEER_UNREACHABLE);
        assertFails(() -> address("host0", 1), TransferStatus.TIMEOUT);
    }

    @Test
    void connect_hostIsResolvedSlowly_endsByTheDeadline() {
        CountDownLatch never = new CountDownLatch(1);
        try (PeerSockets sockets = new PeerSockets(
                ClusterKey.ofSecret("the secret of the test cluster"),
                UUID.randomUUID(),
                true,
                new Counters(),
                null,
                null,
                host -> {
                    try {
                        never.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    return InetAddress.getLoopbackAddress();
                })) {
            PeerAddress peer = new PeerAddress(UUID.randomUUID(), "peer.example", 1, 2, 3);
            long before = System.nanoTime();
            assertFails(() -> sockets.connect(peer, Plane.DATA, before + SECOND / 5), TransferStatus.TIMEOUT);
            assertThat(System.nanoTime() - before).isBetween(SECOND / 5, 5 * SECOND);
        } finally {
            never.countDown();
        }
    }
}
