// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CudaException;
import io.mooncake.natives.FakeCuda;
import io.mooncake.transfer.gpu.GpuPath;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** GPU memory when the driver fails, waits, or is told of memory that is none. Over the fake driver: none of it has run on a GPU. */
@ExtendWith(FakeGpus.class)
final class GpuFaultTest {
    private static final int SIZE = 16 << 20;

    /** What a transfer of GPU memory calls. */
    private static final List<String> CALLS = List.of(
            "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize", "cuStreamCreate", "cuMemHostAlloc");

    private TransferEngine owner;
    private TransferEngine reader;
    private final List<Memory> memories = new ArrayList<>();

    @BeforeEach
    void startEngines() {
        owner = start();
        reader = start();
    }

    private static TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", TransferContract.SECRET));
    }

    @AfterEach
    void stopEngines() {
        FakeCuda.heal();
        reader.close();
        owner.close();
        memories.forEach(memory -> {
            assertThat(memory.canariesIntact()).isTrue();
            memory.close();
        });
    }

    private Memory memory(int gpu) {
        Memory made = GpuTestMemory.of(SIZE, gpu);
        memories.add(made);
        return made;
    }

    private static Deadline soon() {
        return Deadline.ofMillis(20_000);
    }

    private RemoteHandle handle(int region, long offset, long length, boolean writable) {
        return owner.issueHandle(reader.incarnation(), region, 1, offset, length, writable, Duration.ofSeconds(30));
    }

    private TransferStatus move(boolean write, RemoteHandle handle, long address, long size) {
        long[] addresses = {address};
        RemoteHandle[] handles = {handle};
        long[] sizes = {size};
        return write
                ? reader.batchTransferSyncWrite(owner.address(), addresses, handles, sizes, soon())[0]
                : reader.batchTransferSyncRead(owner.address(), addresses, handles, sizes, soon())[0];
    }

    @Test
    void registerGpuMemory_noCard_isStagedAndSaysWhy() {
        Memory there = memory(1);
        int region = there.register(owner);
        assertThat(owner.gpuPath(region)).hasValueSatisfying(report -> {
            assertThat(report.path()).isEqualTo(GpuPath.STAGED);
            assertThat(report.gpu().ordinal()).isEqualTo(1);
            assertThat(report.reason()).isEqualTo("no RDMA device is in use");
        });
        assertThat(owner.gpuPath(memory(-1).register(owner))).isEmpty();
        owner.unregisterMemory(region);
        assertThat(owner.gpuPath(region)).isEmpty();
    }

    @Test
    void registerGpuMemory_notItsMemory_isRefusedAndLeavesNothing() {
        Memory there = memory(0);
        Memory here = memory(-1);
        FakeCuda.Held before = FakeCuda.held();
        RegionGuard guard = there.guard();
        assertThatThrownBy(() -> owner.registerGpuMemory(there.address, SIZE, 1, guard))
                .hasMessageContaining("of GPU 0 (expected: memory of GPU 1)");
        assertThatThrownBy(() -> owner.registerGpuMemory(here.address, SIZE, 0, guard))
                .hasMessageContaining("CUDA_ERROR_INVALID_VALUE");
        assertThatThrownBy(() -> owner.registerGpuMemory(there.address, 2L * SIZE, 0, guard))
                .hasMessageContaining("expected: inside of");
        assertThatThrownBy(() -> owner.registerGpuMemory(there.address, 0, 0, guard))
                .isInstanceOf(MooncakeException.class);
        assertThatThrownBy(() -> owner.registerGpuMemory(Long.MAX_VALUE - 5, 100, 0, guard))
                .isInstanceOf(MooncakeException.class);
        assertThatThrownBy(() -> owner.registerGpuMemory(there.address, SIZE, 7, guard))
                .hasMessageContaining("cudaDevice: 7");
        FakeCuda.fail("cuMemHostAlloc", 0, 1, FakeCuda.OUT_OF_MEMORY);
        assertThatThrownBy(() -> owner.registerGpuMemory(there.address, SIZE, 0, guard))
                .isInstanceOfSatisfying(
                        CudaException.class, e -> assertThat(e.code()).isEqualTo(MooncakeException.Code.EXHAUSTED));
        assertThat(FakeCuda.held()).isEqualTo(before);
    }

    @Test
    void batchTransferSyncRead_gpuAndHostMixed_eachArrivesAtItsPlace() {
        Memory ownerGpu = memory(0);
        Memory ownerHost = memory(-1);
        Memory[] targets = {memory(0), memory(1), memory(-1)};
        int[] sources = {ownerGpu.register(owner), ownerHost.register(owner)};
        for (Memory target : targets) {
            target.register(reader);
        }
        int count = 60;
        long[] addresses = new long[count];
        long[] sizes = new long[count];
        RemoteHandle[] handles = new RemoteHandle[count];
        int slot = SIZE / 32;
        for (int i = 0; i < count; i++) {
            (i % 2 == 0 ? ownerGpu : ownerHost).fill(i, i / 2 * slot, slot - i);
            handles[i] = handle(sources[i % 2], i / 2 * slot, slot - i, false);
            addresses[i] = targets[i % 3].address + i / 3 * slot;
            sizes[i] = slot - i;
        }
        TransferStatus[] statuses = reader.batchTransferSyncRead(owner.address(), addresses, handles, sizes, soon());
        assertThat(statuses).containsOnly(TransferStatus.COMPLETED);
        for (int i = 0; i < count; i++) {
            assertThat(targets[i % 3].firstDifference(i, i / 3 * slot, slot - i))
                    .isEqualTo(-1);
            assertThat(targets[i % 3].untouched(i / 3 * slot + slot - i, i)).isTrue();
        }
    }

    @Test
    void transfers_toItself_passThroughBuffers() {
        Memory gpu = memory(0);
        Memory host = memory(-1);
        int region = gpu.register(owner);
        host.register(owner);
        gpu.fill(1, 5, 3 << 20);
        RemoteHandle handle =
                owner.issueHandle(owner.incarnation(), region, 1, 5, 3 << 20, true, Duration.ofSeconds(9));
        long[] sizes = {3 << 20};
        RemoteHandle[] handles = {handle};
        assertThat(owner.batchTransferSyncRead(owner.address(), new long[] {host.address + 9}, handles, sizes, soon()))
                .containsExactly(TransferStatus.COMPLETED);
        assertThat(host.holds(1, 9, 3 << 20)).isTrue();
        assertThat(owner.batchTransferSyncRead(
                        owner.address(), new long[] {gpu.address + (8 << 20)}, handles, sizes, soon()))
                .containsExactly(TransferStatus.COMPLETED);
        assertThat(gpu.holds(1, 8 << 20, 3 << 20)).isTrue();
        host.fill(2, 9, 3 << 20);
        assertThat(owner.batchTransferSyncWrite(owner.address(), new long[] {host.address + 9}, handles, sizes, soon()))
                .containsExactly(TransferStatus.COMPLETED);
        assertThat(gpu.holds(2, 5, 3 << 20)).isTrue();
    }

    /** Each call of the driver that a transfer makes fails at each place in turn: never wrong bytes under COMPLETED, and the next one works. */
    @Test
    void transfers_anyCallFailsAnywhere_areFailedOrRightAndRecover() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("transfers_anyCallFailsAnywhere mooncake.seed=" + seed);
        Random random = new Random(seed);
        Memory there = memory(0);
        Memory here = memory(1);
        int region = there.register(owner);
        here.register(reader);
        int rounds = Boolean.getBoolean("mooncake.long") ? 2000 : 120;
        int failed = 0;
        for (int round = 0; round < rounds; round++) {
            boolean write = random.nextBoolean();
            int size = 1 + random.nextInt(3 << 20);
            (write ? here : there).fill(round, 64, size);
            (write ? there : here).fill(-1 - round, 64, size);
            String call = CALLS.get(round % CALLS.size());
            FakeCuda.fail(call, random.nextInt(20), 1 + random.nextInt(2), FakeCuda.ILLEGAL_ADDRESS);
            TransferStatus status = move(write, handle(region, 64, size, write), here.address + 64, size);
            FakeCuda.heal();
            assertThat(status)
                    .as("seed %d round %d %s", seed, round, call)
                    .isIn(TransferStatus.COMPLETED, TransferStatus.DEVICE_FAILED);
            failed += status == TransferStatus.DEVICE_FAILED ? 1 : 0;
            if (status == TransferStatus.COMPLETED) {
                assertThat((write ? there : here).firstDifference(round, 64, size))
                        .as("seed %d round %d %s", seed, round, call)
                        .isEqualTo(-1);
            }
            assertThat(FakeCuda.held().copies()).isZero();
            if (status == TransferStatus.DEVICE_FAILED) {
                assertThat(move(write, handle(region, 64, size, write), here.address + 64, size))
                        .as("seed %d after round %d %s", seed, round, call)
                        .isEqualTo(TransferStatus.COMPLETED);
            }
        }
        assertThat(failed).as("failures seen, seed %d", seed).isGreaterThan(rounds / 20);
    }

    @Test
    void batchTransferSyncRead_gpuBrokenForGood_failsAtOnceAndTheHostStaysServed() {
        Memory there = memory(0);
        Memory host = memory(-1);
        Memory here = memory(-1);
        int broken = there.register(owner);
        int sound = host.register(owner);
        here.register(reader);
        host.fill(3, 0, SIZE);
        FakeCuda.fail("cuStreamSynchronize", 0, FakeCuda.ALWAYS, FakeCuda.ILLEGAL_ADDRESS);
        FakeCuda.fail("cuStreamCreate", 0, FakeCuda.ALWAYS, FakeCuda.ILLEGAL_ADDRESS);
        for (int i = 0; i < 5; i++) {
            long before = System.nanoTime();
            assertThat(move(false, handle(broken, 0, 1 << 20, false), here.address, 1 << 20))
                    .isEqualTo(TransferStatus.DEVICE_FAILED);
            assertThat(System.nanoTime() - before).isLessThan(5_000_000_000L);
            assertThat(move(false, handle(sound, 0, 1 << 20, false), here.address, 1 << 20))
                    .isEqualTo(TransferStatus.COMPLETED);
            assertThat(here.holds(3, 0, 1 << 20)).isTrue();
        }
        assertThat(owner.statistics().bytesServed()).isEqualTo(5L << 20);
    }

    @Test
    void batchTransferSyncRead_slowGpu_endsAtTheDeadlineAndNoByteComesLater() {
        Memory there = memory(0);
        Memory here = memory(1);
        int region = there.register(owner);
        here.register(reader);
        there.fill(1, 0, SIZE);
        RemoteHandle handle = handle(region, 0, SIZE, false);
        FakeCuda.slowWaits(60);
        long before = System.nanoTime();
        TransferStatus status = reader.batchTransferSyncRead(
                        owner.address(),
                        new long[] {here.address},
                        new RemoteHandle[] {handle},
                        new long[] {SIZE},
                        Deadline.ofMillis(200))[0];
        long tookMillis = (System.nanoTime() - before) / 1_000_000;
        assertThat(status).isEqualTo(TransferStatus.TIMEOUT);
        assertThat(tookMillis).isBetween(190L, 3_000L);
        here.fill(2, 0, SIZE);
        FakeCuda.slowWaits(0);
        java.util.concurrent.locks.LockSupport.parkNanos(300_000_000);
        assertThat(here.holds(2, 0, SIZE)).isTrue();
        assertThat(move(false, handle(region, 0, 1 << 20, false), here.address, 1 << 20))
                .isEqualTo(TransferStatus.COMPLETED);
    }

    @Test
    void unregisterMemory_slowCopyUnderWay_waitsForIt() throws InterruptedException {
        Memory there = memory(0);
        Memory here = memory(-1);
        int region = there.register(owner);
        here.register(reader);
        RemoteHandle handle = handle(region, 0, SIZE, false);
        FakeCuda.slowWaits(50);
        AtomicBoolean stop = new AtomicBoolean();
        Thread thread = new Thread(() -> {
            while (!stop.get() && move(false, handle, here.address, SIZE) == TransferStatus.COMPLETED) {}
        });
        thread.start();
        Thread.sleep(200);
        owner.unregisterMemory(region);
        FakeCuda.Held held = FakeCuda.held();
        assertThat(held.copies()).isZero();
        assertThat(held.pinned()).isZero();
        assertThat(held.streams()).isZero();
        stop.set(true);
        thread.join();
        assertThat(move(false, handle, here.address, 1000)).isEqualTo(TransferStatus.REFUSED);
    }

    @Test
    void submit_moreBatchesThanBuffers_allCompleteWithTheirOwnBytes() {
        Memory there = memory(0);
        Memory here = memory(1);
        int region = there.register(owner);
        here.register(reader);
        int count = 48;
        int slot = SIZE / count & -8;
        List<TransferOperation> operations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            boolean write = i % 2 == 0;
            (write ? here : there).fill(i, i * slot, slot);
            operations.add(new TransferOperation(
                    write,
                    owner.address(),
                    here.address + (long) i * slot,
                    handle(region, (long) i * slot, slot, write),
                    slot,
                    soon()));
        }
        TransferStatus[] statuses = reader.submit(operations).await(soon()).orElseThrow();
        assertThat(statuses).as(Arrays.toString(statuses)).containsOnly(TransferStatus.COMPLETED);
        for (int i = 0; i < count; i++) {
            assertThat((i % 2 == 0 ? there : here).firstDifference(i, i * slot, slot))
                    .isEqualTo(-1);
        }
    }
}
