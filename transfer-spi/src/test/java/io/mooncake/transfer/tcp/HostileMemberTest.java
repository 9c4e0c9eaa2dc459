// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One that knows the secret and breaks the protocol: its connection ends, nobody else's does. */
final class HostileMemberTest {
    private static final String SECRET = "the secret of the test cluster";
    /** Who sends more nonsense than this within a second is kept out. */
    private static final int ROUNDS_A_LIFE = 500;

    private final CRC32C crc = new CRC32C();
    private PeerSockets sockets;
    private final ByteBuffer memory = ByteBuffer.allocateDirect(1 << 20);
    private TransferEngine owner;
    private int region;
    private RemoteHandle handle;

    @BeforeEach
    void start() throws ReflectiveOperationException {
        owner = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
        java.lang.reflect.Field address = java.nio.Buffer.class.getDeclaredField("address");
        address.setAccessible(true);
        region = owner.registerMemory((long) address.get(memory), memory.capacity(), (o, l, g) -> true);
        beMember();
    }

    /** A member that nothing is held against yet, with a handle of its own. */
    private void beMember() {
        UUID self = UUID.randomUUID();
        sockets = new PeerSockets(ClusterKey.ofSecret(SECRET), self, true, new Counters());
        handle = owner.issueHandle(self, region, 1, 0, 1000, false, Duration.ofSeconds(60));
    }

    @AfterEach
    void stop() {
        sockets.close();
        owner.close();
    }

    private PeerChannel connect() throws IOException {
        return sockets.connect(owner.address(), Plane.DATA, System.nanoTime() + 5_000_000_000L);
    }

    private ByteBuffer request(long sequence) {
        ByteBuffer frame = ByteBuffer.allocate(TcpFrameDescriptor.REQUEST_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        TcpFrameDescriptor.putRequest(frame, false, false, sequence, handle, 0, 1000, crc);
        return frame.flip();
    }

    private static int bytesUntilClosed(PeerChannel channel) {
        ByteBuffer sink = ByteBuffer.allocate(1 << 16);
        int bytes = 0;
        try {
            int read = channel.read(sink);
            while (read >= 0) {
                bytes += read;
                sink.clear();
                read = channel.read(sink);
            }
        } catch (IOException reset) {
            return bytes;
        }
        return bytes;
    }

    @Test
    void request_replayed_endsTheConnectionAfterOneAnswer() throws IOException {
        try (PeerChannel channel = connect()) {
            channel.write(request(1));
            channel.write(request(1));
            assertThat(bytesUntilClosed(channel)).isLessThanOrEqualTo(24 + 1000 + 16);
        }
        assertThat(owner.statistics().requestsServed()).isEqualTo(1);
    }

    @Test
    void handle_takenToAnotherLife_isRefused() throws IOException {
        PeerSockets other = new PeerSockets(ClusterKey.ofSecret(SECRET), UUID.randomUUID(), true, new Counters());
        try (PeerChannel channel = other.connect(owner.address(), Plane.DATA, System.nanoTime() + 5_000_000_000L)) {
            channel.write(request(1));
            channel.socket().shutdownOutput();
            assertThat(bytesUntilClosed(channel)).isLessThanOrEqualTo(24);
        } finally {
            other.close();
        }
        assertThat(owner.statistics().requestsRefused()).isEqualTo(1);
        assertThat(owner.statistics().bytesServed()).isZero();
    }

    @Test
    void frames_randomAndMutated_endTheConnectionOnly() throws IOException {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("frames_randomAndMutated mooncake.seed=" + seed);
        Random random = new Random(seed);
        int rounds = Boolean.getBoolean("mooncake.long") ? 5000 : 150;
        for (int i = 0; i < rounds; i++) {
            if (i % ROUNDS_A_LIFE == 0) {
                sockets.close();
                beMember();
            }
            byte[] bytes = request(1).array().clone();
            byte[] sound = bytes.clone();
            // Two that hit one place may undo each other.
            while (Arrays.equals(bytes, sound)) {
                for (int flips = 1 + random.nextInt(5); flips > 0; flips--) {
                    bytes[random.nextInt(100)] ^= (byte) (1 + random.nextInt(255));
                }
            }
            try (PeerChannel channel = connect()) {
                channel.write(ByteBuffer.wrap(bytes));
                channel.socket().shutdownOutput();
                assertThat(bytesUntilClosed(channel)).isZero();
            }
        }
        assertThat(owner.statistics().bytesServed()).isZero();
        try (PeerChannel channel = connect()) {
            channel.write(request(1));
            channel.socket().shutdownOutput();
            assertThat(bytesUntilClosed(channel)).isBetween(24 + 1000, 24 + 1000 + 16);
        }
    }

    /** ZeroMQ's own framing: the greeting, the command that follows it, and a message whose length can't be. */
    private static ByteBuffer zeroMq(long length) {
        ByteBuffer bytes = ByteBuffer.allocate(400);
        bytes.put((byte) 0xff).position(9);
        bytes.put((byte) 0x7f).put((byte) 3).put((byte) 0).put("NULL".getBytes(US_ASCII));
        bytes.position(64);
        byte[] ready = "\u0005READY\u000bSocket-Type\0\0\0\u0006DEALER".getBytes(US_ASCII);
        bytes.put((byte) 4).put((byte) ready.length).put(ready);
        bytes.put((byte) 2).putLong(length).put(new byte[100]);
        return bytes.flip();
    }

    @Test
    void controlFrames_lengthsThatCannotBe_leaveTheControlPlaneServing() throws Exception {
        owner.control().handle("ping", (from, payload) -> payload);
        long[] lengths = {
            -1, Long.MIN_VALUE, Long.MIN_VALUE + 16, 0xffff_ffff_0000_0000L, -1519554705L, Long.MAX_VALUE, 1L << 31
        };
        try (TransferEngine member = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET))) {
            for (long length : lengths) {
                try (PeerChannel channel =
                        sockets.connect(owner.address(), Plane.CONTROL, System.nanoTime() + 5_000_000_000L)) {
                    channel.write(zeroMq(length));
                    Thread.sleep(30);
                    channel.write(zeroMq(length));
                    for (int i = 0; i < 3; i++) {
                        byte[] reply = member.control()
                                .request(owner.address(), "ping", new byte[] {7}, Deadline.ofMillis(5000))
                                .toCompletableFuture()
                                .get(6, TimeUnit.SECONDS);
                        assertThat(reply).as("length %d", length).containsExactly(7);
                    }
                }
            }
        }
    }
}
