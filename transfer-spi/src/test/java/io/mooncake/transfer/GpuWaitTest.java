// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A peer that does not answer has all the buffers for GPU memory; what waits for them keeps nothing from others meanwhile. */
@ExtendWith(FakeGpus.class)
final class GpuWaitTest {
    /** As large as the buffers are together: one checksum covers all of it. */
    private static final int ALL_BUFFERS = 32 << 20;

    private static final int SIZE = 1 << 20;

    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch answer = new CountDownLatch(1);
    private final Memory theirs = new Memory(ALL_BUFFERS);
    private final Memory sound = new Memory(SIZE);
    private final Memory gpu = new GpuTestMemory(ALL_BUFFERS + SIZE, 0);
    private final Memory host = new Memory(SIZE);
    private final TransferEngine stuckOwner = engine();
    private final TransferEngine soundOwner = engine();
    private final TransferEngine reader = engine();
    private int soundRegion;
    private CompletableFuture<TransferStatus[]> stuck;

    private static TransferEngine engine() {
        return TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(TransferProtocol.TCP)
                .connectionsPerPeer(1)
                .build());
    }

    @BeforeEach
    void takeAllBuffers() throws Exception {
        int region = theirs.register(stuckOwner, (offset, length, generation) -> {
            asked.countDown();
            try {
                return answer.await(30, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                return false;
            }
        });
        TestLeases leases = new TestLeases(theirs, region);
        leases.put(1, 0, ALL_BUFFERS, ALL_BUFFERS);
        stuckOwner.serveLeases(leases);
        soundRegion = sound.register(soundOwner);
        sound.fill(2, 0, SIZE);
        gpu.register(reader);
        host.register(reader);
        RemoteLease lease = reader.lease(
                stuckOwner.address(),
                "pool",
                List.of(TestLeases.key(1)),
                Duration.ofSeconds(10),
                TransferContract.soon());
        stuck = CompletableFuture.supplyAsync(() ->
                reader.read(lease, List.of(new TransferEngine.ReadRequest(0, gpu.address)), TransferContract.soon()));
        assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
    }

    @AfterEach
    void stop() {
        answer.countDown();
        reader.close();
        soundOwner.close();
        stuckOwner.close();
        for (Memory memory : List.of(theirs, sound, gpu, host)) {
            assertThat(memory.canariesIntact()).isTrue();
            memory.close();
        }
    }

    private TransferStatus read(long target, long millis) {
        RemoteHandle handle =
                soundOwner.issueHandle(reader.incarnation(), soundRegion, 1, 0, SIZE, false, Duration.ofSeconds(30));
        return reader.batchTransferSyncRead(
                        soundOwner.address(),
                        new long[] {target},
                        new RemoteHandle[] {handle},
                        new long[] {SIZE},
                        Deadline.ofMillis(millis))[0];
    }

    @Test
    void batchTransferSyncRead_gpuReadWaitsForBuffers_leavesTheOnlyConnectionToOthers() throws Exception {
        CompletableFuture<TransferStatus> waiting =
                CompletableFuture.supplyAsync(() -> read(gpu.address + ALL_BUFFERS, 20_000));
        Thread.sleep(300);
        assertThat(waiting).isNotDone();
        assertThat(read(host.address, 5_000)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(host.holds(2, 0, SIZE)).isTrue();
        assertThat(waiting).isNotDone();
        answer.countDown();
        assertThat(stuck.get(20, TimeUnit.SECONDS)).containsExactly(TransferStatus.COMPLETED);
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(gpu.holds(1, 0, ALL_BUFFERS)).isTrue();
        assertThat(gpu.holds(2, ALL_BUFFERS, SIZE)).isTrue();
    }

    @Test
    void batchTransferSyncRead_noBuffersByTheDeadline_isNothingThatThePeerDidNotDo() {
        // More than it takes for a peer to be skipped that nothing was heard of.
        for (int i = 0; i < 7; i++) {
            assertThat(read(gpu.address + ALL_BUFFERS, 50)).isEqualTo(TransferStatus.TIMEOUT);
        }
        assertThat(read(host.address, 5_000)).isEqualTo(TransferStatus.COMPLETED);
        answer.countDown();
        assertThat(stuck.join()).containsExactly(TransferStatus.COMPLETED);
        assertThat(read(gpu.address + ALL_BUFFERS, 5_000)).isEqualTo(TransferStatus.COMPLETED);
    }
}
