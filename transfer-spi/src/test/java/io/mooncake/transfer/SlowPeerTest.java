// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.topology.Locality;
import io.mooncake.transfer.topology.PathMatrix;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A peer that brings 1 KiB a second: it costs the calls to it, and nobody else's. */
final class SlowPeerTest {
    private static final int SIZE = 4 << 20;
    private static final int PART = 64 << 10;
    private static final int SLOW_BYTES_A_SECOND = 1024;
    private static final boolean THOROUGH = Boolean.getBoolean("mooncake.long");

    private final Memory memory = new Memory(SIZE);
    private final Memory target = new Memory(SIZE);
    private TransferEngine good;
    private TransferEngine slow;
    private TransferEngine reader;
    private FaultProxy proxy;
    private RemoteHandle goodHandle;
    private RemoteHandle slowHandle;

    @BeforeEach
    void start() throws IOException {
        memory.fill(1, 0, SIZE);
        good = TransferEngine.start(config());
        slow = TransferEngine.start(config());
        reader = TransferEngine.start(config());
        target.register(reader);
        goodHandle = handle(good);
        slowHandle = handle(slow);
        proxy = new FaultProxy(slow.address());
        proxy.bytesPerSecond = SLOW_BYTES_A_SECOND;
    }

    private static TransferEngineConfig config() {
        return TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(TransferProtocol.TCP)
                .build();
    }

    private RemoteHandle handle(TransferEngine owner) {
        return owner.issueHandle(
                reader.incarnation(), memory.register(owner), 1, 0, SIZE, false, Duration.ofSeconds(60));
    }

    @AfterEach
    void stop() throws IOException {
        proxy.close();
        reader.close();
        good.close();
        slow.close();
        assertThat(target.canariesIntact()).isTrue();
        memory.close();
        target.close();
    }

    private TransferStatus read(PeerAddress peer, RemoteHandle handle, int size, int millis) {
        return reader.batchTransferSyncRead(
                        peer,
                        new long[] {target.address},
                        new RemoteHandle[] {handle},
                        new long[] {size},
                        Deadline.ofMillis(millis))[0];
    }

    /** Nanoseconds of reads of the good peer, sorted. */
    private long[] goodReads(int count) {
        long[] nanos = new long[count];
        for (int i = 0; i < count; i++) {
            long before = System.nanoTime();
            assertThat(read(good.address(), goodHandle, PART, 20_000)).isEqualTo(TransferStatus.COMPLETED);
            nanos[i] = System.nanoTime() - before;
        }
        Arrays.sort(nanos);
        return nanos;
    }

    private static double middle(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }

    @Test
    void read_goodPeerBesideASlowOne_isAsFastAsAlone() throws Exception {
        int reads = THOROUGH ? 2000 : 400;
        goodReads(2 * reads);
        AtomicBoolean asking = new AtomicBoolean();
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Thread caller = new Thread(() -> {
                while (!stop.get()) {
                    if (asking.get()) {
                        read(proxy.address(), slowHandle, SIZE, 300);
                    } else {
                        LockSupport.parkNanos(5_000_000);
                    }
                }
            });
            caller.start();
            callers.add(caller);
        }
        // 1.2 is the aim, on a machine with nothing else to do.
        double mostMedian = THOROUGH ? 1.2 : 2.0;
        double mostTail = THOROUGH ? 1.2 : 4.0;
        double[] ratios = {Double.MAX_VALUE, Double.MAX_VALUE};
        for (int i = 0; i < 3 && (ratios[0] >= mostMedian || ratios[1] >= mostTail); i++) {
            ratios = besideAndAlone(asking, reads);
        }
        stop.set(true);
        for (Thread caller : callers) {
            caller.join();
        }
        assertThat(ratios[0]).isLessThan(mostMedian);
        assertThat(ratios[1]).isLessThan(mostTail);
    }

    /** How many times as long reads take while the slow peer is asked: the middle one, and the slowest of a hundred. */
    private double[] besideAndAlone(AtomicBoolean asking, int reads) throws InterruptedException {
        List<Double> medians = new ArrayList<>();
        List<Double> tails = new ArrayList<>();
        for (int round = 0; round < (THOROUGH ? 15 : 7); round++) {
            // The load may begin or end within a round; both kinds of rounds take turns.
            asking.set(false);
            Thread.sleep(350);
            long[] alone = goodReads(reads);
            asking.set(true);
            Thread.sleep(50);
            long[] beside = goodReads(reads);
            medians.add((double) beside[reads / 2] / alone[reads / 2]);
            tails.add((double) beside[reads * 99 / 100] / alone[reads * 99 / 100]);
        }
        System.out.printf(
                "slow peer: a good peer's p50 is %.2f and its p99 %.2f times what they are alone%n",
                middle(medians), middle(tails));
        return new double[] {middle(medians), middle(tails)};
    }

    @Test
    void submit_manyToASlowPeer_othersAreServedMeanwhile() {
        List<TransferTicket> waiting = new ArrayList<>();
        Deadline late = Deadline.ofMillis(60_000);
        for (int i = 0; i < 500; i++) {
            waiting.add(reader.submit(List.of(
                    TransferOperation.read(proxy.address(), target.address + PART, slowHandle, SIZE / 2, late))));
        }
        for (int i = 0; i < 50; i++) {
            TransferTicket ticket = reader.submit(List.of(TransferOperation.read(
                    good.address(), target.address, goodHandle, PART, Deadline.ofMillis(20_000))));
            assertThat(ticket.await(Deadline.ofMillis(20_000)).orElseThrow()).containsExactly(TransferStatus.COMPLETED);
        }
        assertThat(waiting).noneMatch(TransferTicket::done);
        waiting.forEach(TransferTicket::cancel);
    }

    @Test
    void read_timedOut_theOtherSourceIsExpectedSooner() {
        List<PathMatrix.Candidate> candidates = List.of(
                new PathMatrix.Candidate(slow.incarnation(), Locality.Closeness.SAME_RACK),
                new PathMatrix.Candidate(good.incarnation(), Locality.Closeness.SAME_RACK));
        assertThat(reader.pathMatrix().rank(candidates, SIZE)).isEqualTo(candidates);
        assertThat(read(proxy.address(), slowHandle, SIZE, 400)).isEqualTo(TransferStatus.TIMEOUT);
        assertThat(reader.pathMatrix().rank(candidates, SIZE).get(0).peer()).isEqualTo(good.incarnation());
    }
}
