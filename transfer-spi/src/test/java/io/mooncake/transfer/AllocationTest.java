// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The data plane makes no garbage to speak of, and none that grows with the bytes. */
final class AllocationTest {
    private static final int SIZE = 64 << 20;

    @Test
    void batchTransferSyncRead_steady_allocatesLittleAndTheSameForAnySize() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Memory memory = new Memory(SIZE);
        Memory target = new Memory(SIZE);
        TransferEngineConfig config = TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .ports(47700, 47899)
                .connectionsPerPeer(1)
                .build();
        try (TransferEngine owner = TransferEngine.start(config);
                TransferEngine reader = TransferEngine.start(config)) {
            int region = owner.registerMemory(memory.address, SIZE, memory.guard());
            reader.registerMemory(target.address, SIZE, target.guard());
            long small = perCall(threads, owner, reader, region, target, 4096);
            long large = perCall(threads, owner, reader, region, target, 1 << 20);
            System.out.println("bytes allocated by the caller: 4 KiB read " + small + ", 1 MiB read " + large);
            assertThat(small).isLessThan(2048);
            assertThat(large).isLessThan(2048);
        }
        memory.close();
        target.close();
    }

    private static long perCall(
            ThreadMXBean threads, TransferEngine owner, TransferEngine reader, int region, Memory target, int size) {
        RemoteHandle[] handles = {
            owner.issueHandle(reader.incarnation(), region, 1, 0, size, false, Duration.ofSeconds(60))
        };
        long[] addresses = {target.address};
        long[] sizes = {size};
        long self = Thread.currentThread().getId();
        int calls = 2000;
        for (int i = 0; i < calls; i++) {
            reader.batchTransferSyncRead(owner.address(), addresses, handles, sizes, soon());
        }
        long before = threads.getThreadAllocatedBytes(self);
        for (int i = 0; i < calls; i++) {
            reader.batchTransferSyncRead(owner.address(), addresses, handles, sizes, soon());
        }
        return (threads.getThreadAllocatedBytes(self) - before) / calls;
    }
}
