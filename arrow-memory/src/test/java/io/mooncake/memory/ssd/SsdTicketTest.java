// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Callbacks of tickets that are used again from within, or that throw. */
final class SsdTicketTest {
    private static final int RECORD = 4096;
    private static final int TIMES = 50_000;

    private final ByteBuffer memory = Records.memory(RECORD);

    private static SsdStore open() {
        SsdSettings settings =
                Records.settings(Path.of("."), RECORD, 32).ioThreads(1).build();
        return SsdStore.open(settings, new TestDisk(false), System::nanoTime, SsdChecks.ALL);
    }

    @Test
    void done_startsTheNextThatIsOverAtOnce_isCalledOneAfterTheOther() throws Exception {
        CountDownLatch over = new CountDownLatch(TIMES);
        AtomicInteger depth = new AtomicInteger();
        AtomicInteger deepest = new AtomicInteger();
        try (SsdStore store = open()) {
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
            SsdTicket ticket = new SsdTicket() {
                @Override
                protected void done(SsdOutcome how) {
                    deepest.accumulateAndGet(depth.incrementAndGet(), Math::max);
                    over.countDown();
                    if (over.getCount() > 0) {
                        // A miss is known without the device.
                        store.load(Records.key(over.getCount()), Records.address(memory), this);
                    }
                    depth.decrementAndGet();
                }
            };
            store.load(Records.key(0), Records.address(memory), ticket);
            assertThat(over.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(deepest.get()).isEqualTo(1);
            assertThat(ticket.outcome()).isEqualTo(SsdOutcome.MISS);
            assertThat(Records.load(store, 0)).isEqualTo(SsdOutcome.LOADED);
        }
    }

    @Test
    void done_throws_theThreadsGoOn() {
        try (SsdStore store = open()) {
            for (SsdTicket.Until until : SsdTicket.Until.values()) {
                for (int i = 0; i < 4; i++) {
                    SsdTicket ticket = new SsdTicket(until) {
                        @Override
                        protected void done(SsdOutcome how) {
                            throw new IllegalStateException("injected");
                        }
                    };
                    store.put(Records.key(10L * until.ordinal() + i), Records.address(memory), ticket, Records.soon());
                    assertThat(ticket.await(Records.soon())).isIn(SsdOutcome.STORED, SsdOutcome.SYNCED);
                }
            }
            assertThat(store.flush(Records.soon())).as("no write is left over").isTrue();
            assertThat(Records.putSynced(store, 99)).isEqualTo(SsdOutcome.SYNCED);
            assertThat(Records.load(store, 99)).isEqualTo(SsdOutcome.LOADED);
            assertThat(store.status()).isEqualTo(SsdStatus.OPEN);
        }
    }
}
