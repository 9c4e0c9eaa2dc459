// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.topology.PathMatrix;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What calls over several rails leave in the matrix of paths. */
final class RailMatrixTest {
    private static final int SIZE = 8 << 20;

    private final Memory ownerMemory = new Memory(SIZE);
    private final Memory readerMemory = new Memory(SIZE);
    private TransferEngine owner;
    private TransferEngine reader;
    private RemoteHandle handle;

    @BeforeEach
    void start() {
        owner = engine();
        reader = engine();
        ownerMemory.fill(1, 0, SIZE);
        int region = owner.registerMemory(ownerMemory.address, SIZE, ownerMemory.guard());
        reader.registerMemory(readerMemory.address, SIZE, readerMemory.guard());
        handle = owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, false, Duration.ofSeconds(60));
    }

    private static TransferEngine engine() {
        return TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(TransferProtocol.TCP)
                .rails(List.of("127.0.0.2"))
                .build());
    }

    @AfterEach
    void stop() {
        reader.close();
        owner.close();
        readerMemory.close();
        ownerMemory.close();
    }

    private void read(PeerAddress peer, int bytes) {
        assertThat(reader.batchTransferSyncRead(
                        peer,
                        new long[] {readerMemory.address},
                        new RemoteHandle[] {handle},
                        new long[] {bytes},
                        Deadline.ofMillis(20_000)))
                .containsExactly(TransferStatus.COMPLETED);
    }

    private List<PathMatrix.Entry> measured() {
        return reader.pathMatrix().entries();
    }

    @Test
    void pathMatrix_twoRails_hasRoundTripAndBandwidthOfEach() {
        long until = System.nanoTime() + 30_000_000_000L;
        while (measured().stream().filter(one -> one.bytesPerSecond() > 0).count() < 2
                && System.nanoTime() - until < 0) {
            read(owner.address(), SIZE);
        }
        while (measured().stream().noneMatch(one -> one.roundTripNanos() > 0) && System.nanoTime() - until < 0) {
            IntStream.range(0, 64).forEach(i -> read(owner.address(), 8));
        }
        assertThat(measured()).extracting(PathMatrix.Entry::railName).containsExactly("tcp 0", "tcp 1");
        assertThat(measured()).allSatisfy(one -> {
            assertThat(one.peer()).isEqualTo(owner.incarnation());
            assertThat(one.bytesPerSecond()).isBetween(1_000_000L, 1_000_000_000_000L);
        });
        assertThat(measured())
                .anySatisfy(one -> assertThat(one.roundTripNanos()).isBetween(1_000L, 100_000_000L));
    }

    @Test
    void pathMatrix_railThatFails_isUnmeasuredAgain() {
        PeerAddress real = owner.address();
        reader.pathMatrix().observe(real.incarnation(), 1, SIZE, 1_000_000);
        // Nobody listens at the second address.
        PeerAddress halfDown = new PeerAddress(
                real.incarnation(),
                real.host(),
                real.dataPort(),
                real.controlPort(),
                real.eventPort(),
                List.of("127.0.0.77"));
        long until = System.nanoTime() + 20_000_000_000L;
        do {
            read(halfDown, SIZE);
        } while (reader.rails(halfDown).get(1).failures() == 0 && System.nanoTime() - until < 0);
        assertThat(reader.rails(halfDown).get(1).failures()).isPositive();
        assertThat(measured()).extracting(PathMatrix.Entry::railName).containsExactly("tcp 0");
    }
}
