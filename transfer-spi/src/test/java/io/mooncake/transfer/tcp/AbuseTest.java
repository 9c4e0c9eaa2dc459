// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.TransferProtocol;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Members that know the secret and ask for what they must not have. */
final class AbuseTest {
    private static final String SECRET = "the secret of the test cluster";
    private static final int SIZE = 1 << 20;
    private static final byte FILL = 0x5a;

    private final CRC32C crc = new CRC32C();
    private final ByteBuffer memory = ByteBuffer.allocateDirect(SIZE);
    private final ByteBuffer readerMemory = ByteBuffer.allocateDirect(SIZE);
    private TransferEngine owner;
    private int region;

    @BeforeEach
    void start() throws ReflectiveOperationException {
        for (int i = 0; i < SIZE; i++) {
            memory.put(i, FILL);
        }
        owner = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
        region = owner.registerMemory(address(memory), SIZE, (offset, length, generation) -> generation == 1);
    }

    @AfterEach
    void stop() {
        owner.close();
        for (int i = 0; i < SIZE; i++) {
            assertThat(memory.get(i)).isEqualTo(FILL);
        }
    }

    private static long address(ByteBuffer buffer) throws ReflectiveOperationException {
        java.lang.reflect.Field address = java.nio.Buffer.class.getDeclaredField("address");
        address.setAccessible(true);
        return (long) address.get(buffer);
    }

    private static Deadline soon() {
        return Deadline.ofMillis(20_000);
    }

    /** A life of a member that talks to the data port by itself. */
    private final class Attacker implements AutoCloseable {
        final UUID self = UUID.randomUUID();
        final PeerSockets sockets = new PeerSockets(ClusterKey.ofSecret(SECRET), self, true, new Counters());
        final PeerChannel channel;
        final ByteBuffer answer =
                ByteBuffer.allocate(TcpFrameDescriptor.RESPONSE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long sequence;

        Attacker() throws IOException {
            channel = sockets.connect(owner.address(), Plane.DATA, System.nanoTime() + 20_000_000_000L);
        }

        RemoteHandle handle(long generation, boolean writable, Duration term) {
            return owner.issueHandle(self, region, generation, 0, 1000, writable, term);
        }

        ByteBuffer request(RemoteHandle handle, boolean write, long accessOffset, int accessLength) {
            ByteBuffer frame =
                    ByteBuffer.allocate(TcpFrameDescriptor.REQUEST_BYTES).order(ByteOrder.LITTLE_ENDIAN);
            TcpFrameDescriptor.putRequest(frame, write, false, ++sequence, handle, accessOffset, accessLength, crc);
            return frame.flip();
        }

        /** Puts {@code value} at {@code at} and makes the frame whole again. */
        ByteBuffer patched(ByteBuffer frame, int at, long value) {
            if (at == 16 || at == 20) {
                frame.putInt(at, (int) value);
            } else {
                frame.putLong(at, value);
            }
            crc.reset();
            crc.update(frame.array(), 0, 96);
            return frame.putInt(96, (int) crc.getValue());
        }

        /** The answer to a frame, or null when the connection ended. */
        TransferStatus send(ByteBuffer frame) {
            try {
                while (frame.hasRemaining()) {
                    channel.write(frame);
                }
                answer.clear();
                while (answer.hasRemaining()) {
                    if (channel.read(answer) < 0) {
                        return null;
                    }
                }
            } catch (IOException e) {
                return null;
            }
            return TcpFrameDescriptor.responseStatus(answer, 0, sequence, 0, crc);
        }

        @Override
        public void close() throws IOException {
            channel.close();
            sockets.close();
        }
    }

    private static RemoteHandle forged(RemoteHandle good) {
        byte[] capability = good.capability().clone();
        capability[5] ^= 1;
        return new RemoteHandle(
                good.region(),
                good.generation(),
                good.offset(),
                good.length(),
                good.writable(),
                good.expiresAtNanos(),
                capability);
    }

    @Test
    void requests_everyCause_areRefusedAndCountedExactly() throws Exception {
        Map<RefusalCause, Long> expected = new EnumMap<>(RefusalCause.class);
        for (RefusalCause cause : RefusalCause.values()) {
            expected.put(cause, 0L);
        }
        try (Attacker attacker = new Attacker()) {
            RemoteHandle good = attacker.handle(1, false, Duration.ofSeconds(20));
            RemoteHandle expired = attacker.handle(1, false, Duration.ZERO);
            RemoteHandle stale = attacker.handle(2, false, Duration.ofSeconds(20));
            long[] bad = {-1, 1L << 31, Long.MAX_VALUE, Long.MIN_VALUE, Long.MAX_VALUE - 999, SIZE, SIZE - 999};
            for (int round = 0; round < 5; round++) {
                assertThat(attacker.send(attacker.request(forged(good), false, 0, 1000)))
                        .isEqualTo(TransferStatus.REFUSED);
                expected.merge(RefusalCause.FORGED, 1L, Long::sum);
                assertThat(attacker.send(attacker.request(expired, false, 0, 1000)))
                        .isEqualTo(TransferStatus.LEASE_EXPIRED);
                expected.merge(RefusalCause.EXPIRED, 1L, Long::sum);
                assertThat(attacker.send(attacker.request(stale, false, 0, 1000)))
                        .isEqualTo(TransferStatus.STALE_GENERATION);
                expected.merge(RefusalCause.STALE, 1L, Long::sum);
                assertThat(attacker.send(attacker.patched(attacker.request(good, false, 0, 1000), 16, region + 7)))
                        .isEqualTo(TransferStatus.REFUSED);
                expected.merge(RefusalCause.REGION, 1L, Long::sum);
                for (long value : bad) {
                    for (int at : new int[] {32, 56}) {
                        ByteBuffer frame = attacker.patched(attacker.request(good, false, 0, 1000), at, value);
                        assertThat(attacker.send(frame)).isEqualTo(TransferStatus.REFUSED);
                        expected.merge(RefusalCause.RANGE, 1L, Long::sum);
                    }
                }
                for (long value : new long[] {-1, 0, 999, Long.MAX_VALUE, Long.MIN_VALUE}) {
                    ByteBuffer frame = attacker.patched(attacker.request(good, false, 0, 1000), 40, value);
                    assertThat(attacker.send(frame)).isEqualTo(TransferStatus.REFUSED);
                    expected.merge(RefusalCause.RANGE, 1L, Long::sum);
                }
                ByteBuffer write = ByteBuffer.allocate(TcpFrameDescriptor.REQUEST_BYTES + 1000)
                        .put(attacker.request(good, true, 0, 1000))
                        .position(0);
                assertThat(attacker.send(write)).isEqualTo(TransferStatus.REFUSED);
                expected.merge(RefusalCause.RIGHTS, 1L, Long::sum);
            }
            ByteBuffer again = attacker.request(forged(good), false, 0, 1000);
            assertThat(attacker.send(again.duplicate())).isEqualTo(TransferStatus.REFUSED);
            expected.merge(RefusalCause.FORGED, 1L, Long::sum);
            assertThat(attacker.send(again)).isNull();
            expected.merge(RefusalCause.REPLAY, 1L, Long::sum);
        }
        for (long length : new long[] {-1, 0, Integer.MIN_VALUE, (1 << 30) + 1}) {
            try (Attacker attacker = new Attacker()) {
                ByteBuffer frame = attacker.request(attacker.handle(1, false, Duration.ofSeconds(9)), false, 0, 1000);
                assertThat(attacker.send(attacker.patched(frame, 20, length))).isNull();
                expected.merge(RefusalCause.MALFORMED, 1L, Long::sum);
            }
        }
        assertThat(owner.refusals()).isEqualTo(expected);
        assertThat(owner.statistics().requestsRefused())
                .isEqualTo(expected.values().stream().mapToLong(Long::longValue).sum());
        assertThat(owner.statistics().bytesServed()).isZero();
        assertThat(owner.statistics().bytesReceived()).isZero();
    }

    @Test
    void forgeries_inAHurry_putThePeerOutAndKeepItOut() throws Exception {
        try (Attacker attacker = new Attacker()) {
            RemoteHandle forged = forged(attacker.handle(1, false, Duration.ofSeconds(20)));
            long answers = burst(attacker, forged, 20_000);
            assertThat(answers).isBetween(0L, 19_999L);
            assertThat(owner.refusals().get(RefusalCause.FORGED)).isBetween(1000L, 19_999L);
            long before = owner.statistics().requestsRefused();
            try (PeerChannel second =
                    attacker.sockets.connect(owner.address(), Plane.DATA, System.nanoTime() + 20_000_000_000L)) {
                assertThat(second.read(ByteBuffer.allocate(1))).isEqualTo(-1);
            }
            assertThat(owner.statistics().requestsRefused()).isEqualTo(before);
        }
        try (TransferEngine good = TransferEngine.start(config())) {
            assertThat(median(good, 3)[0]).isPositive();
        }
    }

    /** Sends up to {@code count} forged reads, many at a time; how many answers came before the end. */
    private static long burst(Attacker attacker, RemoteHandle forged, int count) {
        ByteBuffer answers = ByteBuffer.allocate(64 * TcpFrameDescriptor.RESPONSE_BYTES);
        long bytes = 0;
        try {
            for (int sent = 0; sent < count; sent += 64) {
                ByteBuffer frames = ByteBuffer.allocate(64 * TcpFrameDescriptor.REQUEST_BYTES);
                for (int i = 0; i < 64; i++) {
                    frames.put(attacker.request(forged, false, 0, 1000));
                }
                frames.flip();
                while (frames.hasRemaining()) {
                    attacker.channel.write(frames);
                }
                answers.clear();
                while (answers.hasRemaining()) {
                    int read = attacker.channel.read(answers);
                    if (read < 0) {
                        return bytes / TcpFrameDescriptor.RESPONSE_BYTES;
                    }
                    bytes += read;
                }
            }
        } catch (IOException reset) {
            return bytes / TcpFrameDescriptor.RESPONSE_BYTES;
        }
        return bytes / TcpFrameDescriptor.RESPONSE_BYTES;
    }

    private static TransferEngineConfig config() {
        return TransferEngineConfig.builder("127.0.0.1", SECRET)
                .protocol(TransferProtocol.TCP)
                .build();
    }

    /** Nanoseconds of a 16 KiB read by a good peer: median and 99th percentile. */
    private long[] median(TransferEngine good, int reads) throws ReflectiveOperationException {
        int local = good.registerMemory(address(readerMemory), SIZE, (o, l, g) -> true);
        long[] nanos = new long[reads];
        for (int i = 0; i < reads; i++) {
            RemoteHandle handle =
                    owner.issueHandle(good.incarnation(), region, 1, 0, 16_384, false, Duration.ofSeconds(30));
            long before = System.nanoTime();
            TransferStatus status = good.batchTransferSyncRead(
                            owner.address(),
                            new long[] {address(readerMemory)},
                            new RemoteHandle[] {handle},
                            new long[] {16_384},
                            soon())[0];
            nanos[i] = System.nanoTime() - before;
            assertThat(status).isEqualTo(TransferStatus.COMPLETED);
        }
        good.unregisterMemory(local);
        Arrays.sort(nanos);
        return new long[] {nanos[reads / 2], nanos[reads * 99 / 100]};
    }

    private static long heapBytes() throws InterruptedException {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
            Runtime runtime = Runtime.getRuntime();
            least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
        }
        return least;
    }

    @Test
    void flood_ofForgeries_movesNothingGrowsNothingAndTheGoodPeerIsServed() throws Exception {
        int wanted = Boolean.getBoolean("mooncake.long") ? 1_000_000 : 10_000;
        try (TransferEngine good = TransferEngine.start(config())) {
            median(good, 200);
            long[] alone = median(good, 400);
            long served = owner.statistics().bytesServed();
            long heap = heapBytes();
            AtomicBoolean done = new AtomicBoolean();
            AtomicBoolean measured = new AtomicBoolean();
            long[] sent = new long[2];
            Thread flood = new Thread(() -> {
                try {
                    // Whoever is put out comes back under a new name.
                    while ((owner.statistics().requestsRefused() < wanted || !measured.get()) && !done.get()) {
                        try (Attacker attacker = new Attacker()) {
                            RemoteHandle forged = forged(attacker.handle(1, false, Duration.ofSeconds(20)));
                            sent[1] += burst(attacker, forged, 20_000);
                            sent[0] += attacker.sequence;
                        }
                    }
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
            flood.start();
            // Twice is the aim on a machine of its own; here the attacker itself takes one of two cores.
            long most = Math.max(4 * alone[1], 200_000_000L);
            long[] under = median(good, 400);
            int runs = 1;
            while (runs < 3 && under[1] >= most) {
                under = median(good, 400);
                runs++;
            }
            measured.set(true);
            flood.join(TimeUnit.SECONDS.toMillis(Boolean.getBoolean("mooncake.long") ? 1200 : 60));
            done.set(true);
            flood.join();
            long refused = owner.refusals().get(RefusalCause.FORGED);
            System.out.printf(
                    "flood: %d refused, good peer's p50/p99 alone %d/%d us, under it %d/%d us%n",
                    refused, alone[0] / 1000, alone[1] / 1000, under[0] / 1000, under[1] / 1000);
            assertThat(refused).isBetween(Math.max(sent[1], wanted), sent[0]);
            assertThat(owner.statistics().requestsRefused()).isEqualTo(refused);
            assertThat(owner.statistics().bytesServed() - served).isEqualTo(runs * 400L * 16_384);
            assertThat(heapBytes() - heap).isLessThan(16L << 20);
            assertThat(under[1]).isLessThan(most);
        }
    }

    @Test
    void connections_allTakenByOnePeer_aNewcomerGetsOne() throws Exception {
        List<PeerChannel> hoard = new ArrayList<>();
        try (Attacker hoarder = new Attacker()) {
            for (int i = 0; i < OwnerSide.MAX_SERVED; i++) {
                hoard.add(hoarder.sockets.connect(owner.address(), Plane.DATA, System.nanoTime() + 20_000_000_000L));
            }
            try (TransferEngine good = TransferEngine.start(config())) {
                assertThat(median(good, 3)[0]).isPositive();
            }
        } finally {
            for (PeerChannel one : hoard) {
                one.close();
            }
        }
    }

    @Test
    void transfers_ofAPeerWithSixtyFourConnections_leaveAnotherOneItsTurn() throws Exception {
        ByteBuffer hoard = ByteBuffer.allocateDirect(64 << 20);
        int large = owner.registerMemory(address(hoard), hoard.capacity(), (o, l, g) -> true);
        ByteBuffer target = ByteBuffer.allocateDirect(64 << 20);
        TransferEngineConfig many = TransferEngineConfig.builder("127.0.0.1", SECRET)
                .protocol(TransferProtocol.TCP)
                .connectionsPerPeer(64)
                .build();
        try (TransferEngine good = TransferEngine.start(config());
                TransferEngine greedy = TransferEngine.start(many)) {
            median(good, 100);
            long[] alone = median(good, 200);
            greedy.registerMemory(address(target), target.capacity(), (o, l, g) -> true);
            AtomicBoolean stop = new AtomicBoolean();
            Thread hoarder = new Thread(() -> {
                while (!stop.get()) {
                    RemoteHandle handle = owner.issueHandle(
                            greedy.incarnation(), large, 1, 0, hoard.capacity(), false, Duration.ofSeconds(30));
                    try {
                        greedy.batchTransferSyncRead(
                                owner.address(),
                                new long[] {address(target)},
                                new RemoteHandle[] {handle},
                                new long[] {hoard.capacity()},
                                soon());
                    } catch (ReflectiveOperationException e) {
                        throw new IllegalStateException(e);
                    }
                }
            });
            hoarder.start();
            long most = Math.max(20 * alone[1], 400_000_000L);
            long[] under;
            try {
                under = median(good, 200);
                for (int i = 0; i < 2 && under[1] >= most; i++) {
                    under = median(good, 200);
                }
            } finally {
                stop.set(true);
                hoarder.join();
            }
            System.out.printf(
                    "greedy peer: good peer's p50/p99 alone %d/%d us, beside it %d/%d us%n",
                    alone[0] / 1000, alone[1] / 1000, under[0] / 1000, under[1] / 1000);
            assertThat(under[1]).isLessThan(most);
        }
    }
}
