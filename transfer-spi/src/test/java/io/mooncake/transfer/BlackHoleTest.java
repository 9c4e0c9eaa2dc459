// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A peer that takes everything and says nothing any more, or next to nothing: it costs its callers their deadline, a few times. */
final class BlackHoleTest {
    private static final int SIZE = 1 << 20;
    private static final int DEADLINE_MILLIS = Boolean.getBoolean("mooncake.long") ? 2000 : 400;
    private static final long GRACE_NANOS = 250_000_000L;
    private static final int MOST_CALLS = 20;
    private static final long SKIPPED_NANOS = 10_000_000L;

    private final Memory ownerMemory = new Memory(SIZE);
    private final Memory readerMemory = new Memory(SIZE);
    private TransferEngine owner;
    private TransferEngine reader;
    private RemoteHandle handle;
    private FaultProxy proxy;

    @BeforeEach
    void start() throws IOException {
        owner = TransferEngine.start(config());
        reader = TransferEngine.start(config());
        ownerMemory.fill(1, 0, SIZE);
        int region = owner.registerMemory(ownerMemory.address, SIZE, ownerMemory.guard());
        reader.registerMemory(readerMemory.address, SIZE, readerMemory.guard());
        handle = owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, false, Duration.ofSeconds(60));
        proxy = new FaultProxy(owner.address());
        loadClasses();
    }

    /** What a first call costs a new process is not what is measured. */
    private void loadClasses() {
        try (TransferEngine other = TransferEngine.start(config())) {
            RemoteHandle unknown = other.issueHandle(
                    reader.incarnation(),
                    other.registerMemory(ownerMemory.address, SIZE, ownerMemory.guard()),
                    1,
                    0,
                    SIZE,
                    false,
                    Duration.ofSeconds(60));
            RemoteHandle right = handle;
            handle = unknown;
            assertThat(read(other.address(), 20_000)).isEqualTo(TransferStatus.COMPLETED);
            handle = right;
        }
    }

    private static TransferEngineConfig config() {
        return TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(TransferProtocol.TCP)
                .build();
    }

    @AfterEach
    void stop() throws IOException {
        proxy.close();
        reader.close();
        owner.close();
        ownerMemory.close();
        readerMemory.close();
    }

    private TransferStatus read(PeerAddress peer, int millis) {
        return reader.batchTransferSyncRead(
                        peer,
                        new long[] {readerMemory.address},
                        new RemoteHandle[] {handle},
                        new long[] {SIZE},
                        Deadline.ofMillis(millis))[0];
    }

    // The owner's part of the handshake has 104 bytes, the head of an answer 24.
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 104 + 23, 64 << 10})
    void read_silentPeer_endsByDeadlineIsSkippedAfterFiveAndTriedAgain(long passed) throws InterruptedException {
        proxy.passedBytes = passed;
        long[] nanos = new long[MOST_CALLS];
        int calls = 0;
        while (calls < MOST_CALLS) {
            long before = System.nanoTime();
            TransferStatus status = read(proxy.address(), DEADLINE_MILLIS);
            if (status == TransferStatus.PEER_UNREACHABLE) {
                break;
            }
            assertThat(status).isEqualTo(TransferStatus.TIMEOUT);
            nanos[calls++] = System.nanoTime() - before;
        }
        // On a busy machine the last byte that passes may come late in a call, which does not count then.
        assertThat(calls).isBetween(5, MOST_CALLS - 1);
        // A busy machine may hold up some calls, not each of them.
        Arrays.sort(nanos, 0, calls);
        assertThat(nanos[0]).isBetween(DEADLINE_MILLIS * 1_000_000L, DEADLINE_MILLIS * 1_000_000L + GRACE_NANOS);
        assertThat(nanos[calls - 1]).isLessThan(20_000_000_000L);
        long least = Long.MAX_VALUE;
        int skipped = 0;
        for (int i = 0; i < MOST_CALLS && skipped < 5; i++) {
            long before = System.nanoTime();
            TransferStatus status = read(proxy.address(), DEADLINE_MILLIS);
            if (status == TransferStatus.PEER_UNREACHABLE) {
                skipped++;
                least = Math.min(least, System.nanoTime() - before);
            } else {
                // The pause was over: it was its turn to be tried again.
                assertThat(status).isEqualTo(TransferStatus.TIMEOUT);
            }
        }
        assertThat(skipped).isEqualTo(5);
        assertThat(least).isLessThan(SKIPPED_NANOS);
        proxy.passedBytes = Long.MAX_VALUE;
        long healed = System.nanoTime();
        TransferStatus status = TransferStatus.PEER_UNREACHABLE;
        while (status != TransferStatus.COMPLETED && System.nanoTime() - healed < 60_000_000_000L) {
            Thread.sleep(20);
            status = read(proxy.address(), 5000);
        }
        assertThat(status).isEqualTo(TransferStatus.COMPLETED);
        assertThat(readerMemory.holds(1, 0, SIZE)).isTrue();
    }

    @Test
    void read_otherPeerWhileManyWaitForSilentOne_isServed() throws Exception {
        proxy.passedBytes = 0;
        List<Thread> waiting = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            Thread thread = new Thread(() -> read(proxy.address(), 5000));
            thread.start();
            waiting.add(thread);
        }
        // Another life of the same owner's address would be another peer; so is a second owner.
        try (TransferEngine second = TransferEngine.start(config())) {
            int region = second.registerMemory(ownerMemory.address, SIZE, ownerMemory.guard());
            handle = second.issueHandle(reader.incarnation(), region, 1, 0, SIZE, false, Duration.ofSeconds(60));
            for (int i = 0; i < 50; i++) {
                assertThat(read(second.address(), 4500)).isEqualTo(TransferStatus.COMPLETED);
            }
        }
        for (Thread thread : waiting) {
            thread.join(20_000);
            assertThat(thread.isAlive()).isFalse();
        }
    }

    @Test
    void read_slowPeer_isNotSkipped() {
        proxy.bytesPerSecond = 10_000;
        for (int i = 0; i < 7; i++) {
            assertThat(read(proxy.address(), DEADLINE_MILLIS)).isEqualTo(TransferStatus.TIMEOUT);
        }
    }
}
