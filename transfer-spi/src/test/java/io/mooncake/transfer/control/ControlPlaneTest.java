// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests and events between two engines. */
final class ControlPlaneTest {
    private static final String SECRET = "the secret of the test cluster";
    private TransferEngine server;
    private TransferEngine client;

    private static TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    }

    @BeforeEach
    void startEngines() {
        server = start();
        client = start();
    }

    @AfterEach
    void stopEngines() {
        client.close();
        server.close();
    }

    private CompletableFuture<byte[]> ask(PeerAddress peer, String service, byte[] payload, long millis) {
        return client.control()
                .request(peer, service, payload, Deadline.ofMillis(millis))
                .toCompletableFuture();
    }

    private static void assertFails(CompletableFuture<byte[]> reply, MooncakeException.Code code) {
        assertThatThrownBy(reply::join)
                .isInstanceOf(CompletionException.class)
                .extracting(Throwable::getCause)
                .extracting("code")
                .isEqualTo(code);
    }

    @Test
    void request_anySize_isAnsweredByTheHandlerWhoKnowsTheSender() {
        List<UUID> senders = Collections.synchronizedList(new ArrayList<>());
        server.control().handle("echo", (from, payload) -> {
            senders.add(from);
            return payload;
        });
        for (int size : new int[] {0, 1, 8191, 8192, 8193, 1 << 20, ControlPlane.MAX_PAYLOAD_BYTES}) {
            byte[] payload = new byte[size];
            Arrays.fill(payload, (byte) size);
            assertThat(ask(server.address(), "echo", payload, 20_000).join()).isEqualTo(payload);
        }
        assertThat(senders).containsOnly(client.incarnation());
        assertThatThrownBy(() -> ask(server.address(), "echo", new byte[ControlPlane.MAX_PAYLOAD_BYTES + 1], 1000))
                .isInstanceOf(MooncakeException.class);
    }

    @Test
    void request_manyOutstanding_eachGetsItsOwnAnswer() {
        server.control().handle("twice", (from, payload) -> {
            int value = ByteBuffer.wrap(payload).getInt();
            return ByteBuffer.allocate(4).putInt(2 * value).array();
        });
        List<CompletableFuture<byte[]>> replies = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            replies.add(ask(
                    server.address(), "twice", ByteBuffer.allocate(4).putInt(i).array(), 20_000));
        }
        for (int i = 0; i < replies.size(); i++) {
            assertThat(ByteBuffer.wrap(replies.get(i).join()).getInt()).isEqualTo(2 * i);
        }
    }

    @Test
    void request_handlerThrowsOrIsMissing_isRefusedWithTheMessage() {
        server.control().handle("bad", (from, payload) -> {
            throw new IllegalStateException("no such luck");
        });
        assertThatThrownBy(
                        () -> ask(server.address(), "bad", new byte[0], 10_000).join())
                .hasMessageContaining("no such luck");
        assertFails(ask(server.address(), "bad", new byte[0], 10_000), MooncakeException.Code.PEER_REFUSED);
        assertFails(ask(server.address(), "none", new byte[0], 10_000), MooncakeException.Code.PEER_REFUSED);
    }

    @Test
    void request_handlerSlow_endsAtTheDeadline() {
        Semaphore release = new Semaphore(0);
        server.control().handle("slow", (from, payload) -> {
            try {
                release.acquire();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return payload;
        });
        server.control().handle("echo", (from, payload) -> payload);
        long least = Long.MAX_VALUE;
        // A busy machine may hold up one call, not each of them.
        for (int i = 0; i < 5 && least >= 450_000_000L; i++) {
            ask(server.address(), "echo", new byte[0], 20_000).join();
            long before = System.nanoTime();
            assertFails(ask(server.address(), "slow", new byte[0], 200), MooncakeException.Code.DEADLINE_EXCEEDED);
            long took = System.nanoTime() - before;
            assertThat(took).isBetween(200_000_000L, 20_000_000_000L);
            least = Math.min(least, took);
            release.release();
        }
        assertThat(least).isLessThan(450_000_000L);
    }

    @Test
    void request_otherPeersAreSilent_isNotHeldUp() throws Exception {
        server.control().handle("echo", (from, payload) -> payload);
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3 && least >= 3_000_000_000L; i++) {
            least = Math.min(least, nanosWhileOthersAreSilent());
        }
        assertThat(least).isLessThan(3_000_000_000L);
    }

    /** What a request takes while others wait for four seconds, in vain. */
    private long nanosWhileOthersAreSilent() throws IOException {
        List<ServerSocket> holes = new ArrayList<>();
        try {
            List<CompletableFuture<byte[]>> lost = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                // The kernel connects; nobody ever answers.
                ServerSocket hole = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
                holes.add(hole);
                int port = hole.getLocalPort();
                lost.add(ask(
                        new PeerAddress(UUID.randomUUID(), "127.0.0.1", port, port, port), "echo", new byte[0], 4000));
            }
            long before = System.nanoTime();
            ask(server.address(), "echo", new byte[0], 20_000).join();
            long took = System.nanoTime() - before;
            for (CompletableFuture<byte[]> one : lost) {
                assertFails(one, MooncakeException.Code.PEER_UNREACHABLE);
            }
            return took;
        } finally {
            for (ServerSocket hole : holes) {
                hole.close();
            }
        }
    }

    @Test
    void request_hurriedOneConnects_patientOneKeepsItsTime() throws Exception {
        server.control().handle("echo", (from, payload) -> payload);
        PeerAddress real = server.address();
        // No connection leads anywhere until the hurried one has failed.
        CountDownLatch failed = new CountDownLatch(1);
        try (ServerSocket relay = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Thread relaying = new Thread(() -> relayAfter(failed, relay, real.controlPort()));
            relaying.setDaemon(true);
            relaying.start();
            PeerAddress address = new PeerAddress(
                    real.incarnation(), "127.0.0.1", real.dataPort(), relay.getLocalPort(), real.eventPort());
            CompletableFuture<byte[]> hurried = ask(address, "echo", new byte[0], 500);
            CompletableFuture<byte[]> patient = ask(address, "echo", new byte[] {7}, 20_000);
            assertFails(hurried, MooncakeException.Code.PEER_UNREACHABLE);
            failed.countDown();
            assertThat(patient.join()).containsExactly(7);
        }
    }

    private static void relayAfter(CountDownLatch start, ServerSocket relay, int port) {
        try {
            start.await();
            while (true) {
                Socket from = relay.accept();
                Socket to = new Socket(InetAddress.getLoopbackAddress(), port);
                copyInBackground(from, to);
                copyInBackground(to, from);
            }
        } catch (IOException e) {
            // The test is over.
            return;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void copyInBackground(Socket from, Socket to) {
        Thread thread = new Thread(() -> copy(from, to));
        thread.setDaemon(true);
        thread.start();
    }

    private static void copy(Socket from, Socket to) {
        try (from;
                to) {
            from.getInputStream().transferTo(to.getOutputStream());
        } catch (IOException e) {
            // Either side hung up.
            return;
        }
    }

    @Test
    void request_peerGoneOrRestarted_isTyped() {
        server.control().handle("echo", (from, payload) -> payload);
        PeerAddress address = server.address();
        ask(address, "echo", new byte[0], 10_000).join();
        server.close();
        assertFails(ask(address, "echo", new byte[0], 2000), MooncakeException.Code.PEER_UNREACHABLE);
        TransferEngine next = TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", SECRET)
                .ports(address.dataPort(), address.dataPort() + 20)
                .build());
        server = next;
        PeerAddress confused = new PeerAddress(
                address.incarnation(),
                "127.0.0.1",
                next.address().dataPort(),
                next.address().controlPort(),
                next.address().eventPort());
        client.peerGone(UUID.randomUUID());
        TransferEngine fresh = start();
        try {
            assertFails(
                    fresh.control()
                            .request(confused, "echo", new byte[0], Deadline.ofMillis(20_000))
                            .toCompletableFuture(),
                    MooncakeException.Code.STALE);
        } finally {
            fresh.close();
        }
    }

    @Test
    void request_lifeService_isAnsweredAcrossTheEndOfALife() {
        server.control().handle("echo", (from, payload) -> payload);
        server.control().handle(ControlPlane.LIFE_SERVICE, (from, payload) -> from.toString()
                .getBytes(UTF_8));
        byte[] own = client.incarnation().toString().getBytes(UTF_8);
        assertThat(ask(server.address(), ControlPlane.LIFE_SERVICE, new byte[0], 20_000)
                        .join())
                .isEqualTo(own);

        server.peerGone(client.incarnation());
        await(() -> {
            try {
                return Arrays.equals(
                        ask(server.address(), ControlPlane.LIFE_SERVICE, new byte[0], 20_000)
                                .join(),
                        own);
            } catch (CompletionException e) {
                // The connection that it had was cut.
                return false;
            }
        });
        await(() -> failure(ask(server.address(), "echo", new byte[0], 20_000)) == MooncakeException.Code.PEER_REFUSED);

        client.peerGone(server.incarnation());
        await(() -> {
            try {
                return Arrays.equals(
                        ask(server.address(), ControlPlane.LIFE_SERVICE, new byte[0], 20_000)
                                .join(),
                        own);
            } catch (CompletionException e) {
                return false;
            }
        });
        assertFails(ask(server.address(), "echo", new byte[0], 20_000), MooncakeException.Code.PEER_UNREACHABLE);
    }

    private static MooncakeException.@Nullable Code failure(CompletableFuture<byte[]> reply) {
        return reply.handle((bytes, error) -> {
                    Throwable cause = error instanceof CompletionException wrapped ? wrapped.getCause() : error;
                    return cause instanceof MooncakeException failed ? failed.code() : null;
                })
                .join();
    }

    private CompletableFuture<Void> push(PeerAddress peer, int number, long millis) {
        return client.control()
                .push(peer, "work", ByteBuffer.allocate(4).putInt(number).array(), Deadline.ofMillis(millis))
                .toCompletableFuture();
    }

    @Test
    void push_manyNotices_eachIsPulledOnceByWhoKnowsTheSender() {
        List<Integer> pulled = Collections.synchronizedList(new ArrayList<>());
        List<UUID> senders = Collections.synchronizedList(new ArrayList<>());
        server.control().pull("work", (from, payload) -> {
            senders.add(from);
            pulled.add(ByteBuffer.wrap(payload).getInt());
        });
        List<CompletableFuture<Void>> taken = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            taken.add(push(server.address(), i, 20_000));
        }
        taken.forEach(CompletableFuture::join);
        await(() -> pulled.size() == 3000);
        assertThat(pulled).doesNotHaveDuplicates();
        assertThat(senders).containsOnly(client.incarnation());
        assertThatThrownBy(() -> server.control().pull("work", (from, payload) -> {}))
                .hasMessageContaining("queue work: pulled already");
    }

    @Test
    void push_handlersAreStuck_pusherWaitsRequestsDoNotAndNothingIsLost() throws Exception {
        CountDownLatch stuck = new CountDownLatch(1);
        List<Integer> pulled = Collections.synchronizedList(new ArrayList<>());
        server.control().handle("echo", (from, payload) -> payload);
        server.control().pull("work", (from, payload) -> {
            try {
                stuck.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            pulled.add(ByteBuffer.wrap(payload).getInt());
        });
        assertThat(ask(server.address(), "echo", new byte[1], 20_000).join()).hasSize(1);
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            all.add(push(server.address(), i, 8000));
        }
        assertThat(ask(server.address(), "echo", new byte[2], 20_000).join()).hasSize(2);
        int taken = 0;
        for (CompletableFuture<Void> one : all) {
            try {
                one.get(60, TimeUnit.SECONDS);
                taken++;
            } catch (ExecutionException e) {
                assertThat(e.getCause()).extracting("code").isEqualTo(MooncakeException.Code.DEADLINE_EXCEEDED);
            }
        }
        assertThat(taken).as("one each of its threads").isEqualTo(4);
        stuck.countDown();
        await(() -> pulled.size() == 100);
        assertThat(pulled).doesNotHaveDuplicates();
    }

    @Test
    void push_moreThanMayWait_isExhausted() throws Exception {
        CountDownLatch stuck = new CountDownLatch(1);
        server.control().pull("work", (from, payload) -> {
            try {
                stuck.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        byte[] large = new byte[ControlPlane.MAX_PAYLOAD_BYTES];
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            all.add(client.control()
                    .push(server.address(), "work", large, Deadline.ofMillis(20_000))
                    .toCompletableFuture());
        }
        await(() -> all.stream()
                .anyMatch(one -> one.isCompletedExceptionally()
                        && one.handle((taken, e) -> e.getCause() instanceof MooncakeException refused
                                        && refused.code() == MooncakeException.Code.EXHAUSTED)
                                .join()));
        stuck.countDown();
        await(() -> all.stream().allMatch(CompletableFuture::isDone));
    }

    @Test
    void push_nobodyThere_isTyped() {
        PeerAddress nobody = new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 1, 1);
        assertThatThrownBy(() -> push(nobody, 1, 3000).join())
                .extracting(Throwable::getCause)
                .extracting("code")
                .isEqualTo(MooncakeException.Code.PEER_UNREACHABLE);
        client.peerGone(server.incarnation());
        assertThatThrownBy(() -> push(server.address(), 1, 3000).join())
                .extracting(Throwable::getCause)
                .extracting("code")
                .isEqualTo(MooncakeException.Code.PEER_UNREACHABLE);
    }

    @Test
    void push_handlerThrowsOrIsMissing_costsThatNoticeOnly() {
        List<Integer> pulled = Collections.synchronizedList(new ArrayList<>());
        assertThatThrownBy(() -> client.control()
                        .push(server.address(), "unclaimed", new byte[4], Deadline.ofMillis(20_000))
                        .toCompletableFuture()
                        .join())
                .extracting(Throwable::getCause)
                .extracting("code")
                .isEqualTo(MooncakeException.Code.PEER_REFUSED);
        server.control().pull("work", (from, payload) -> {
            int number = ByteBuffer.wrap(payload).getInt();
            if (number % 2 == 0) {
                throw new IllegalStateException("even (of the test)");
            }
            pulled.add(number);
        });
        for (int i = 10; i < 20; i++) {
            push(server.address(), i, 20_000).join();
        }
        await(() -> pulled.size() == 5);
        assertThat(pulled).containsExactlyInAnyOrder(11, 13, 15, 17, 19);
    }

    /** Ports that nobody listens at: it goes another way. */
    @Test
    void allThreePatterns_toTheEngineItself_goWithinTheProcess() {
        PeerAddress self = new PeerAddress(client.incarnation(), "127.0.0.1", 1, 1, 1);
        assertPatternsWork(client, self);
    }

    /** An address that leads nowhere, with the ports by which engines of one machine find each other. */
    @Test
    void allThreePatterns_toAPeerOnThisMachine_goByLocalSockets() {
        PeerAddress there = server.address();
        PeerAddress nowhere = new PeerAddress(
                there.incarnation(), "192.0.2.1", there.dataPort(), there.controlPort(), there.eventPort());
        assertPatternsWork(server, nowhere);
        PeerAddress otherPorts = new PeerAddress(there.incarnation(), "127.0.0.1", 1, 1, 1);
        try (TransferEngine stranger = start()) {
            assertThatThrownBy(() -> stranger.control()
                            .request(otherPorts, "echo", new byte[1], Deadline.ofMillis(2000))
                            .toCompletableFuture()
                            .join())
                    .extracting(Throwable::getCause)
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.PEER_UNREACHABLE);
        }
    }

    private void assertPatternsWork(TransferEngine to, PeerAddress address) {
        to.control().handle("echo", (from, payload) -> payload);
        List<UUID> pulled = Collections.synchronizedList(new ArrayList<>());
        to.control().pull("work", (from, payload) -> pulled.add(from));
        byte[] large = new byte[ControlPlane.MAX_PAYLOAD_BYTES];
        Arrays.fill(large, (byte) 7);
        assertThat(ask(address, "echo", large, 20_000).join()).isEqualTo(large);
        push(address, 1, 20_000).join();
        await(() -> pulled.equals(List.of(client.incarnation())));
        List<byte[]> heard = Collections.synchronizedList(new ArrayList<>());
        try (ControlPlane.Subscription ignored = client.control().subscribe(address, "news", heard::add)) {
            await(() -> {
                to.control().publish("news", new byte[] {3});
                return !heard.isEmpty();
            });
        }
        assertThat(heard.get(0)).containsExactly(3);
    }

    @Test
    void publish_subscribersOfTheTopic_getEventsInOrder() {
        List<Integer> heard = Collections.synchronizedList(new ArrayList<>());
        AtomicInteger others = new AtomicInteger();
        ControlPlane.Subscription subscription = client.control()
                .subscribe(
                        server.address(),
                        "blocks",
                        payload -> heard.add(ByteBuffer.wrap(payload).getInt()));
        client.control().subscribe(server.address(), "block", payload -> others.incrementAndGet());
        publishUntil(() -> !heard.isEmpty());
        int from = heard.get(heard.size() - 1) + 1_000_000;
        for (int i = 0; i < 300; i++) {
            server.control()
                    .publish("blocks", ByteBuffer.allocate(4).putInt(from + i).array());
        }
        await(() -> heard.contains(from + 299));
        List<Integer> tail =
                new ArrayList<>(heard).stream().filter(value -> value >= from).toList();
        assertThat(tail).hasSize(300).isSorted();
        assertThat(others).hasValue(0);
        subscription.close();
        int count = heard.size();
        server.control().publish("blocks", new byte[4]);
        server.control().publish("block", new byte[4]);
        await(() -> others.get() == 1);
        assertThat(heard).hasSize(count);
    }

    @Test
    void subscribe_peerDeclaredGone_hearsNothingMore() {
        AtomicInteger heard = new AtomicInteger();
        client.control().subscribe(server.address(), "t", payload -> heard.incrementAndGet());
        publishUntil(() -> heard.get() > 0, "t");
        client.peerGone(server.incarnation());
        CompletableFuture<byte[]> refused = ask(server.address(), "x", new byte[0], 2000);
        assertFails(refused, MooncakeException.Code.PEER_UNREACHABLE);
        int count = heard.get();
        server.control().publish("t", new byte[4]);
        java.util.concurrent.locks.LockSupport.parkNanos(100_000_000);
        assertThat(heard.get()).isLessThanOrEqualTo(count + 1);
    }

    private void publishUntil(BooleanSupplier heard) {
        publishUntil(heard, "blocks");
    }

    private void publishUntil(BooleanSupplier heard, String topic) {
        AtomicInteger number = new AtomicInteger();
        await(() -> {
            server.control()
                    .publish(
                            topic,
                            ByteBuffer.allocate(4)
                                    .putInt(number.incrementAndGet())
                                    .array());
            return heard.getAsBoolean();
        });
    }

    private static void await(BooleanSupplier condition) {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("condition in time").isLessThan(until);
            java.util.concurrent.locks.LockSupport.parkNanos(5_000_000);
        }
    }
}
