// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.TransferTicket;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tickets end, whatever becomes of the threads behind them. */
final class AsyncTransfersTest {
    @Test
    void start_errorOfTheJvmInAPart_endsTheTicketAndTheNextOneRuns() {
        try (AsyncTransfers transfers = new AsyncTransfers()) {
            for (int i = 0; i < 3; i++) {
                AsyncTransfers.Part broken = new AsyncTransfers.Part(new int[] {0}, new TransferBatch(), () -> {
                    throw new OutOfMemoryError("of the test");
                });
                TransferTicket ticket = transfers.start(1, List.of(broken));
                assertThat(ticket.await(Deadline.ofMillis(20_000)).orElseThrow())
                        .containsExactly(TransferStatus.CANCELED);
            }
            TransferStatus[] completed = {TransferStatus.COMPLETED};
            AsyncTransfers.Part sound = new AsyncTransfers.Part(new int[] {0}, new TransferBatch(), () -> completed);
            TransferTicket ticket = transfers.start(1, List.of(sound));
            assertThat(ticket.await(Deadline.ofMillis(20_000)).orElseThrow()).containsExactly(TransferStatus.COMPLETED);
        }
    }
}
