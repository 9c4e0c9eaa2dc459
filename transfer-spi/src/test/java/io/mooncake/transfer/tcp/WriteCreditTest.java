// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PeerAddress;
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
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** A client has no more writes unanswered than the owner lets it; the owner here answers when it is told to. */
final class WriteCreditTest {
    private static final String SECRET = "the secret of the test cluster";
    private static final int SLICE = 1 << 20;
    private static final int SLICES = 8;

    /** Lengths of the writes that have arrived in full. */
    private final BlockingQueue<Integer> arrived = new ArrayBlockingQueue<>(SLICES);

    private final BlockingQueue<PeerChannel> connected = new ArrayBlockingQueue<>(1);

    @Test
    void write_ownerGrantsLittle_isWaitedFor() throws Exception {
        UUID self = UUID.randomUUID();
        ByteBuffer source = ByteBuffer.allocateDirect(SLICES * SLICE);
        java.lang.reflect.Field field = java.nio.Buffer.class.getDeclaredField("address");
        field.setAccessible(true);
        long address = (long) field.get(source);
        try (PeerSockets sockets = new PeerSockets(ClusterKey.ofSecret(SECRET), self, true, new Counters());
                TransferEngine writer = TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", SECRET)
                        .protocol(TransferProtocol.TCP)
                        .connectionsPerPeer(1)
                        .build())) {
            int port = sockets.listen(
                    List.of("127.0.0.1"), 47_700, 47_899, List.of(), Plane.DATA, (channel, peer) -> take(channel));
            writer.registerMemory(address, source.capacity(), (o, l, g) -> true);
            PeerAddress peer = new PeerAddress(self, "127.0.0.1", port, port, port);
            RemoteHandle handle = new RemoteHandle(1, 1, 0, source.capacity(), true, Long.MAX_VALUE / 2, new byte[32]);
            CompletableFuture<TransferStatus> outcome =
                    CompletableFuture.supplyAsync(() -> writer.batchTransferSyncWrite(
                                    peer,
                                    new long[] {address},
                                    new RemoteHandle[] {handle},
                                    new long[] {source.capacity()},
                                    Deadline.ofMillis(30_000))[0]);
            assertArrived(1);
            PeerChannel channel = connected.poll(10, TimeUnit.SECONDS);
            assertThat(channel).isNotNull();
            answer(channel, 1, 2 * SLICE);
            assertArrived(2);
            answer(channel, 2, 0);
            assertArrived(0);
            answer(channel, 3, 0);
            assertArrived(1);
            answer(channel, 4, 16 * SLICE);
            for (int sequence = 5; sequence <= SLICES; sequence++) {
                assertThat(arrived.poll(10, TimeUnit.SECONDS)).isEqualTo(SLICE);
                answer(channel, sequence, 16 * SLICE);
            }
            assertThat(outcome.get(10, TimeUnit.SECONDS)).isEqualTo(TransferStatus.COMPLETED);
        }
    }

    /** Exactly so many more arrive. */
    private void assertArrived(int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            assertThat(arrived.poll(10, TimeUnit.SECONDS)).isEqualTo(SLICE);
        }
        assertThat(arrived.poll(200, TimeUnit.MILLISECONDS)).isNull();
    }

    private static void answer(PeerChannel channel, long sequence, int creditBytes) throws IOException {
        ByteBuffer frame =
                ByteBuffer.allocate(TcpFrameDescriptor.RESPONSE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        TcpFrameDescriptor.putResponse(frame, TransferStatus.COMPLETED, sequence, 0, creditBytes, new CRC32C());
        frame.flip();
        while (frame.hasRemaining()) {
            channel.write(frame);
        }
    }

    private void take(PeerChannel channel) {
        connected.add(channel);
        ByteBuffer frame = ByteBuffer.allocate(TcpFrameDescriptor.REQUEST_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer payload = ByteBuffer.allocateDirect(SLICE);
        TcpFrameDescriptor.Request request = new TcpFrameDescriptor.Request();
        try {
            while (fill(channel, frame.clear())
                    && TcpFrameDescriptor.readRequest(frame, 0, request, new CRC32C())
                    && fill(channel, payload.clear().limit(request.length()))) {
                arrived.add(request.length());
            }
        } catch (IOException e) {
            // The test is over.
            return;
        }
    }

    private static boolean fill(PeerChannel channel, ByteBuffer target) throws IOException {
        while (target.hasRemaining()) {
            if (channel.read(target) < 0) {
                return false;
            }
        }
        return true;
    }
}
