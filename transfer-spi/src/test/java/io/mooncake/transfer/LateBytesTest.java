// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A write whose bytes are still on their way when its caller has given up and its range has found another use. */
final class LateBytesTest {
    private static final int SIZE = 1 << 20;
    private static final int OLDER = 1;
    private static final int NEWER = 2;

    private final Memory ownerMemory = new Memory(SIZE);
    private final Memory readerMemory = new Memory(SIZE);
    private TransferEngine owner;
    private TransferEngine writer;
    private TransferEngine newer;
    private FaultProxy proxy;
    private int region;

    @BeforeEach
    void start() throws IOException {
        owner = TransferEngine.start(config());
        writer = TransferEngine.start(config());
        newer = TransferEngine.start(config());
        region = ownerMemory.register(owner);
        readerMemory.register(writer);
        readerMemory.register(newer);
        proxy = new FaultProxy(owner.address());
    }

    private static TransferEngineConfig config() {
        return TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(TransferProtocol.TCP)
                .connectionsPerPeer(1)
                .build();
    }

    @AfterEach
    void stop() throws IOException {
        proxy.close();
        newer.close();
        writer.close();
        owner.close();
        assertThat(ownerMemory.canariesIntact()).isTrue();
        ownerMemory.close();
        readerMemory.close();
    }

    private RemoteHandle handle(TransferEngine holder) {
        return owner.issueHandle(
                holder.incarnation(), region, ownerMemory.generation.get(), 0, SIZE, true, Duration.ofSeconds(30));
    }

    private TransferStatus write(TransferEngine by, PeerAddress peer, int name, int millis) {
        readerMemory.fill(name, 0, SIZE);
        return by.batchTransferSyncWrite(
                        peer,
                        new long[] {readerMemory.address},
                        new RemoteHandle[] {handle(by)},
                        new long[] {SIZE},
                        Deadline.ofMillis(millis))[0];
    }

    /** The bytes that are late belong to a write whose handle has ended: none lands, and the writer is told why. */
    @Test
    void write_bytesComeAfterTheHandlesEnd_changeNothingAndTheWriterIsToldSo() throws Exception {
        boolean begun = false;
        // A busy machine may let the handle end before the first bytes are there.
        for (int i = 0; i < 20 && !begun; i++) {
            try (TransferEngine another = TransferEngine.start(config());
                    FaultProxy holding = new FaultProxy(owner.address())) {
                readerMemory.register(another);
                begun = heldBeyondTheHandlesEnd(another, holding);
            }
        }
        assertThat(begun).as("a write that had begun").isTrue();
    }

    /** Whether bytes of the write came before its handle ended. */
    private boolean heldBeyondTheHandlesEnd(TransferEngine another, FaultProxy holding) throws Exception {
        ownerMemory.fill(NEWER, 0, SIZE);
        readerMemory.fill(OLDER, 0, SIZE);
        holding.readerBytes = 300_000;
        RemoteHandle brief = owner.issueHandle(
                another.incarnation(), region, ownerMemory.generation.get(), 0, SIZE, true, Duration.ofMillis(900));
        long end = System.nanoTime() + 900_000_000L;
        CompletableFuture<TransferStatus> late = CompletableFuture.supplyAsync(() -> another.batchTransferSyncWrite(
                        holding.address(),
                        new long[] {readerMemory.address},
                        new RemoteHandle[] {brief},
                        new long[] {SIZE},
                        soon())[0]);
        while (System.nanoTime() - end < 100_000_000L) {
            LockSupport.parkNanos(5_000_000);
        }
        boolean begun = ownerMemory.firstDifference(NEWER, 0, SIZE) >= 0;
        ownerMemory.fill(NEWER, 0, SIZE);
        holding.readerBytes = Long.MAX_VALUE;
        assertThat(late.get(60, TimeUnit.SECONDS)).isEqualTo(TransferStatus.LEASE_EXPIRED);
        assertThat(ownerMemory.firstDifference(NEWER, 0, SIZE)).isEqualTo(-1);
        return begun;
    }

    /** Cut off within the handshake, the request, the first piece, a later one. */
    @ParameterizedTest
    @ValueSource(ints = {50, 250, 100_000, 700_000})
    void write_bytesComeAfterANewerAttempt_changeNothing(int passed) throws Exception {
        proxy.readerBytes = passed;
        assertThat(write(writer, proxy.address(), OLDER, 300)).isEqualTo(TransferStatus.TIMEOUT);
        ownerMemory.generation.incrementAndGet();
        owner.revoke(region, 0, SIZE);
        assertThat(write(newer, owner.address(), NEWER, 20_000)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(ownerMemory.holds(NEWER, 0, SIZE)).isTrue();
        long refused = owner.statistics().requestsRefused();
        proxy.readerBytes = Long.MAX_VALUE;
        for (int i = 0; i < 60; i++) {
            LockSupport.parkNanos(5_000_000);
            assertThat(ownerMemory.firstDifference(NEWER, 0, SIZE)).isEqualTo(-1);
        }
        assertThat(owner.statistics().requestsRefused()).isBetween(refused, refused + 1);
        assertThat(write(newer, owner.address(), NEWER + 1, 20_000)).isEqualTo(TransferStatus.COMPLETED);
    }
}
