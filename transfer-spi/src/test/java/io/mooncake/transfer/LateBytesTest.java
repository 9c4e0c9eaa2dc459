// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
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

    /** Cut off within the handshake, the request, the first piece, a later one. */
    @ParameterizedTest
    @ValueSource(ints = {50, 250, 100_000, 700_000})
    void write_bytesComeAfterANewerAttempt_changeNothing(int passed) throws Exception {
        proxy.readerBytes = passed;
        assertThat(write(writer, proxy.address(), OLDER, 300)).isEqualTo(TransferStatus.TIMEOUT);
        ownerMemory.generation.incrementAndGet();
        owner.revoke(region, 0, SIZE);
        assertThat(write(newer, owner.address(), NEWER, 10_000)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(ownerMemory.holds(NEWER, 0, SIZE)).isTrue();
        long refused = owner.statistics().requestsRefused();
        proxy.readerBytes = Long.MAX_VALUE;
        for (int i = 0; i < 60; i++) {
            LockSupport.parkNanos(5_000_000);
            assertThat(ownerMemory.firstDifference(NEWER, 0, SIZE)).isEqualTo(-1);
        }
        assertThat(owner.statistics().requestsRefused()).isBetween(refused, refused + 1);
        assertThat(write(newer, owner.address(), NEWER + 1, 10_000)).isEqualTo(TransferStatus.COMPLETED);
    }
}
