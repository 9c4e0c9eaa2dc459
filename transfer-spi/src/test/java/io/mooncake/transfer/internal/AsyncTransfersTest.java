// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerQueue;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.TransferTicket;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tickets end, whatever becomes of the threads behind them. */
final class AsyncTransfersTest {
    private static final UUID PEER = UUID.randomUUID();
    private static final TransferStatus[] COMPLETED = {TransferStatus.COMPLETED};

    @Test
    void start_errorOfTheJvmInAPart_endsTheTicketAndTheNextOneRuns() {
        try (AsyncTransfers transfers = new AsyncTransfers()) {
            for (int i = 0; i < 3; i++) {
                AsyncTransfers.Part broken = new AsyncTransfers.Part(PEER, new int[] {0}, new TransferBatch(), () -> {
                    throw new OutOfMemoryError("of the test");
                });
                TransferTicket ticket = transfers.start(1, List.of(broken));
                assertThat(ticket.await(Deadline.ofMillis(20_000)).orElseThrow())
                        .containsExactly(TransferStatus.CANCELED);
            }
            TransferStatus[] completed = {TransferStatus.COMPLETED};
            AsyncTransfers.Part sound =
                    new AsyncTransfers.Part(PEER, new int[] {0}, new TransferBatch(), () -> completed);
            TransferTicket ticket = transfers.start(1, List.of(sound));
            assertThat(ticket.await(Deadline.ofMillis(20_000)).orElseThrow()).containsExactly(TransferStatus.COMPLETED);
        }
    }

    private static AsyncTransfers.Part waiting(UUID peer, CountDownLatch until) {
        return new AsyncTransfers.Part(peer, new int[] {0}, new TransferBatch(), () -> {
            try {
                assertThat(until.await(60, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return COMPLETED;
        });
    }

    @Test
    void start_peersWhosePartsDoNotEnd_keepNobodyElseWaiting() {
        CountDownLatch end = new CountDownLatch(1);
        List<TransferTicket> stuck = new ArrayList<>();
        try (AsyncTransfers transfers = new AsyncTransfers()) {
            for (int peer = 0; peer < 4; peer++) {
                UUID slow = UUID.randomUUID();
                for (int i = 0; i < 200; i++) {
                    stuck.add(transfers.start(1, List.of(waiting(slow, end))));
                }
            }
            AsyncTransfers.Part sound =
                    new AsyncTransfers.Part(PEER, new int[] {0}, new TransferBatch(), () -> COMPLETED);
            for (int i = 0; i < 100; i++) {
                assertThat(transfers
                                .start(1, List.of(sound))
                                .await(Deadline.ofMillis(20_000))
                                .orElseThrow())
                        .containsExactly(TransferStatus.COMPLETED);
            }
            end.countDown();
            for (TransferTicket ticket : stuck) {
                assertThat(ticket.await(Deadline.ofMillis(20_000)).orElseThrow())
                        .containsExactly(TransferStatus.COMPLETED);
            }
        }
    }

    @Test
    void start_onePartForEachOfManyPeers_isNotCountedAgainstOneThatIsBusy() {
        CountDownLatch end = new CountDownLatch(1);
        try (AsyncTransfers transfers = new AsyncTransfers()) {
            for (int i = 0; i <= AsyncTransfers.THREADS_A_PEER; i++) {
                transfers.start(1, List.of(waiting(PEER, end)));
            }
            List<AsyncTransfers.Part> parts = new ArrayList<>();
            parts.add(new AsyncTransfers.Part(PEER, new int[] {0}, new TransferBatch(), () -> COMPLETED));
            for (int i = 1; i <= AsyncTransfers.MAX_WAITING; i++) {
                parts.add(new AsyncTransfers.Part(
                        UUID.randomUUID(), new int[] {i}, new TransferBatch(), () -> COMPLETED));
            }
            TransferTicket ticket = transfers.start(parts.size(), parts);
            end.countDown();
            assertThat(ticket.await(Deadline.ofMillis(20_000)).orElseThrow()).containsOnly(TransferStatus.COMPLETED);
        }
    }

    @Test
    void queues_partsRunAndWait_areCountedAPeer() throws InterruptedException {
        CountDownLatch end = new CountDownLatch(1);
        try (AsyncTransfers transfers = new AsyncTransfers()) {
            assertThat(transfers.queues()).isEmpty();
            List<TransferTicket> tickets = new ArrayList<>();
            for (int i = 0; i < AsyncTransfers.THREADS_A_PEER + 3; i++) {
                tickets.add(transfers.start(1, List.of(waiting(PEER, end))));
            }
            PeerQueue busy = new PeerQueue(PEER, AsyncTransfers.THREADS_A_PEER, 3);
            awaitQueues(transfers, List.of(busy));
            end.countDown();
            for (TransferTicket ticket : tickets) {
                assertThat(ticket.await(Deadline.ofMillis(60_000))).isPresent();
            }
            awaitQueues(transfers, List.of());
        }
    }

    private static void awaitQueues(AsyncTransfers transfers, List<PeerQueue> expected) throws InterruptedException {
        long until = System.nanoTime() + 60_000_000_000L;
        while (!transfers.queues().equals(expected) && System.nanoTime() - until < 0) {
            Thread.sleep(5);
        }
        assertThat(transfers.queues()).isEqualTo(expected);
    }

    @Test
    void start_moreThanMayWait_isRefusedForThatPeerOnly() {
        CountDownLatch end = new CountDownLatch(1);
        try (AsyncTransfers transfers = new AsyncTransfers()) {
            UUID slow = UUID.randomUUID();
            assertThatThrownBy(() -> {
                        for (int i = 0; i <= AsyncTransfers.MAX_WAITING + AsyncTransfers.THREADS_A_PEER; i++) {
                            transfers.start(1, List.of(waiting(slow, end)));
                        }
                    })
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.EXHAUSTED);
            AsyncTransfers.Part sound =
                    new AsyncTransfers.Part(PEER, new int[] {0}, new TransferBatch(), () -> COMPLETED);
            assertThat(transfers
                            .start(1, List.of(sound))
                            .await(Deadline.ofMillis(20_000))
                            .orElseThrow())
                    .containsExactly(TransferStatus.COMPLETED);
            end.countDown();
        }
    }
}
