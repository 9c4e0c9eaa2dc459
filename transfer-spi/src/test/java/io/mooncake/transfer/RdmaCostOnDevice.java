// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * What a read over RDMA costs: objects on the heap, and time, which is printed and not judged: the device is software, and the processor
 * may be emulated. Needs a device, as {@link RdmaTransferOnDevice}.
 */
final class RdmaCostOnDevice {
    private static final int SIZE = 1 << 20;
    private static final int WARM_CALLS = 100;
    private static final int CALLS = 10;
    private static final int TIMED_CALLS = 50;
    private static final int RAW_WARM_CALLS = 30;
    private static final int ROUNDS = 20;

    private final Garbage garbage = new Garbage();
    private final Memory theirs = new Memory(SIZE);
    private final Memory ours = new Memory(SIZE);
    private TransferEngine owner;
    private TransferEngine reader;
    private int region;
    private TestLeases leases;

    @BeforeEach
    void start() {
        owner = TransferEngine.start(config());
        reader = TransferEngine.start(config());
        region = theirs.register(owner);
        ours.register(reader);
        leases = new TestLeases(theirs, region);
        owner.serveLeases(leases);
    }

    private static TransferEngineConfig config() {
        return TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(TransferProtocol.RDMA)
                .rdma(RdmaTransferOnDevice.CONFIG)
                .maxLeaseMillis(60_000)
                .build();
    }

    @AfterEach
    void stop() {
        reader.close();
        owner.close();
        theirs.close();
        ours.close();
    }

    @Test
    void leasedRead_steady_allocatesNothing() {
        for (int size : new int[] {8, 64 << 10, SIZE}) {
            leases.put(size, 0, size, Math.min(size, 64 << 10));
            try (RemoteLease lease = reader.lease(
                    owner.address(), "pool", List.of(TestLeases.key(size)), Duration.ofSeconds(60), soon())) {
                PreparedRead prepared =
                        reader.prepareRead(lease, List.of(new TransferEngine.ReadRequest(0, ours.address)));
                Garbage.Call call = deadline -> prepared.run(garbage.statuses, deadline);
                boolean large = size == SIZE;
                garbage.run(call, large ? WARM_CALLS / 4 : WARM_CALLS);
                // Short rounds: a timer of the engines ticks once a second.
                int calls = large ? 2 : CALLS;
                long bytes = garbage.least(call, calls, ROUNDS);
                report("leased read", size, bytes, calls, median(call, large ? TIMED_CALLS / 4 : TIMED_CALLS));
                assertThat(bytes).as("leased read of %d", size).isZero();
            }
        }
    }

    @Test
    @EnabledIfSystemProperty(named = "mooncake.long", matches = "true")
    void rawReadAndWrite_steady_allocateNoMoreThanTheirMessages() {
        for (boolean write : new boolean[] {false, true}) {
            Garbage.Call call = raw(8, write);
            garbage.run(call, RAW_WARM_CALLS);
            report(
                    write ? "raw write" : "raw read",
                    8,
                    garbage.least(call, CALLS, 2),
                    CALLS,
                    median(call, TIMED_CALLS));
        }
    }

    private Garbage.Call raw(int size, boolean write) {
        RemoteHandle[] handles = {
            owner.issueHandle(reader.incarnation(), region, 1, 0, size, write, Duration.ofSeconds(60))
        };
        long[] addresses = {ours.address};
        long[] sizes = {size};
        PeerAddress peer = owner.address();
        TransferStatus[] statuses = garbage.statuses;
        return write
                ? deadline -> reader.batchTransferSyncWrite(peer, addresses, handles, sizes, statuses, deadline)
                : deadline -> reader.batchTransferSyncRead(peer, addresses, handles, sizes, statuses, deadline);
    }

    /** Nanoseconds of a call. */
    private long median(Garbage.Call call, int calls) {
        long[] nanos = new long[calls];
        for (int i = 0; i < calls; i++) {
            long began = System.nanoTime();
            garbage.run(call, 1);
            nanos[i] = System.nanoTime() - began;
        }
        Arrays.sort(nanos);
        return nanos[calls / 2];
    }

    private static void report(String what, int size, long bytes, int calls, long nanos) {
        System.out.printf(
                "%s of %d bytes: %.1f us (median), %d bytes allocated in %d calls, all threads%n",
                what, size, nanos / 1e3, bytes, calls);
    }
}
