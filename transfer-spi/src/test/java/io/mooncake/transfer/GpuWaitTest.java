// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.natives.FakeCuda;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** One read has all the buffers for GPU memory; what waits for them keeps nothing from others meanwhile. */
@ExtendWith(FakeGpus.class)
class GpuWaitTest {
    /** As large as the buffers are together: one checksum covers all of it. */
    private static final int ALL_BUFFERS = 32 << 20;

    private static final int SIZE = 1 << 20;
    /** Emulated machines are slow. */
    private static final int LEASE_MILLIS = 40_000;

    private final Memory theirs = new Memory(ALL_BUFFERS);
    private final Memory others = new Memory(SIZE);
    private final Memory gpu = new GpuTestMemory(ALL_BUFFERS + SIZE, 0);
    private final Memory host = new Memory(SIZE);
    private final TransferEngine firstOwner = TransferEngine.start(config().build());
    private final TransferEngine otherOwner = TransferEngine.start(config().build());
    private final TransferEngine reader = TransferEngine.start(config().build());
    private int otherRegion;
    private CompletableFuture<TransferStatus[]> first;

    /** With one connection for all calls to a peer; asked for before the instance is whole. */
    TransferEngineConfig.Builder config() {
        return TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(TransferProtocol.TCP)
                .maxLeaseMillis(LEASE_MILLIS)
                .connectionsPerPeer(1);
    }

    @BeforeEach
    void takeAllBuffers() throws InterruptedException {
        int region = theirs.register(firstOwner);
        TestLeases leases = new TestLeases(theirs, region);
        leases.put(1, 0, ALL_BUFFERS, ALL_BUFFERS);
        firstOwner.serveLeases(leases);
        otherRegion = others.register(otherOwner);
        others.fill(2, 0, SIZE);
        gpu.register(reader);
        host.register(reader);
        RemoteLease lease = reader.lease(
                firstOwner.address(),
                "pool",
                List.of(TestLeases.key(1)),
                Duration.ofMillis(LEASE_MILLIS),
                TransferContract.soon());
        FakeCuda.slowWaits(60_000);
        first = CompletableFuture.supplyAsync(() -> reader.read(
                lease, List.of(new TransferEngine.ReadRequest(0, gpu.address)), Deadline.ofMillis(LEASE_MILLIS)));
        while (FakeCuda.held().copies() == 0) {
            assertThat(first).as("its bytes wait for the GPU").isNotDone();
            Thread.sleep(1);
        }
    }

    @AfterEach
    void stop() {
        FakeCuda.slowWaits(0);
        reader.close();
        otherOwner.close();
        firstOwner.close();
        for (Memory memory : List.of(theirs, others, gpu, host)) {
            assertThat(memory.canariesIntact()).isTrue();
            memory.close();
        }
    }

    private TransferStatus read(long target, long millis) {
        RemoteHandle handle =
                otherOwner.issueHandle(reader.incarnation(), otherRegion, 1, 0, SIZE, false, Duration.ofSeconds(30));
        return reader.batchTransferSyncRead(
                        otherOwner.address(),
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
        assertThat(read(host.address, 20_000)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(host.holds(2, 0, SIZE)).isTrue();
        assertThat(waiting).isNotDone();
        FakeCuda.slowWaits(0);
        assertThat(first.get(20, TimeUnit.SECONDS)).containsExactly(TransferStatus.COMPLETED);
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(gpu.holds(1, 0, ALL_BUFFERS)).isTrue();
        assertThat(gpu.holds(2, ALL_BUFFERS, SIZE)).isTrue();
    }

    @Test
    void unregisterMemory_readIntoItWaitsForBuffers_endsThatRead() throws Exception {
        try (Memory more = new GpuTestMemory(SIZE, 1)) {
            int region = more.register(reader);
            AtomicReference<Thread> reading = new AtomicReference<>();
            CompletableFuture<TransferStatus> waiting = CompletableFuture.supplyAsync(() -> {
                reading.set(Thread.currentThread());
                return read(more.address, LEASE_MILLIS);
            });
            TransferContract.await(
                    () -> reading.get() != null && reading.get().getState() == Thread.State.TIMED_WAITING);
            long began = System.nanoTime();
            reader.unregisterMemory(region);
            assertThat((System.nanoTime() - began) / 1_000_000).isLessThan(10_000);
            assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo(TransferStatus.PEER_UNREACHABLE);
            assertThat(more.untouched(0, SIZE)).isTrue();
        }
    }

    @Test
    void batchTransferSyncRead_noBuffersByTheDeadline_isNothingThatThePeerDidNotDo() {
        // More than it takes for a peer to be skipped that nothing was heard of.
        for (int i = 0; i < 7; i++) {
            assertThat(read(gpu.address + ALL_BUFFERS, 50)).isEqualTo(TransferStatus.TIMEOUT);
        }
        assertThat(read(host.address, 20_000)).isEqualTo(TransferStatus.COMPLETED);
        FakeCuda.slowWaits(0);
        assertThat(first.join()).containsExactly(TransferStatus.COMPLETED);
        assertThat(read(gpu.address + ALL_BUFFERS, 20_000)).isEqualTo(TransferStatus.COMPLETED);
    }
}
