// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A channel closes itself when the thread that reads it is interrupted: no interrupt may take a file from the store. Over real files. */
final class SsdInterruptTest {
    private static final int RECORD = 16 << 10;
    private static final int RECORDS = 12;

    @TempDir
    Path folder;

    private SsdStore open() {
        return SsdStore.open(Records.settings(folder, RECORD, 16).build());
    }

    private SsdStore filled() {
        SsdStore store = open();
        for (int i = 0; i < RECORDS; i++) {
            assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
        }
        return store;
    }

    private static <T> T interrupted(Callable<T> body) throws Exception {
        FutureTask<T> task = new FutureTask<>(() -> {
            Thread.currentThread().interrupt();
            T result = body.call();
            assertThat(Thread.currentThread().isInterrupted())
                    .as("the flag stays")
                    .isTrue();
            return result;
        });
        new Thread(task).start();
        return task.get(30, TimeUnit.SECONDS);
    }

    private static void assertWhole(SsdStore store) {
        assertThat(store.status()).isEqualTo(SsdStatus.OPEN);
        for (int i = 0; i < RECORDS; i++) {
            assertThat(Records.load(store, i)).as("record %d", i).isEqualTo(SsdOutcome.LOADED);
        }
        assertThat(Records.putSynced(store, 100)).isEqualTo(SsdOutcome.SYNCED);
        assertThat(store.statistics().readErrors()).isZero();
        assertThat(store.statistics().writeErrors()).isZero();
    }

    @Test
    void scrub_interruptedCaller_givesUpAndTheStoreGoesOn() throws Exception {
        try (SsdStore store = filled()) {
            assertThat(interrupted(() -> store.scrub(Records.soon()))).isEqualTo(-1);
            assertThat(store.scrub(Records.soon())).isZero();
            assertWhole(store);
        }
    }

    @Test
    void peek_interruptedCaller_readsAndTheStoreGoesOn() throws Exception {
        ByteBuffer memory = Records.memory(4096);
        try (SsdStore store = filled()) {
            SsdOutcome outcome = interrupted(() -> store.peek(Records.key(1), Records.address(memory), 4096));
            assertThat(outcome).isEqualTo(SsdOutcome.LOADED);
            ByteBuffer whole = Records.memory(RECORD);
            Records.fill(whole, 1);
            assertThat(memory.mismatch(whole.slice(0, 4096))).isEqualTo(-1);
            assertWhole(store);
        }
    }

    @Test
    void done_leavesTheFlagSet_theStoreGoesOn() throws Exception {
        try (SsdStore store = filled()) {
            for (int i = 0; i < 40; i++) {
                ByteBuffer memory = Records.memory(RECORD);
                CountDownLatch told = new CountDownLatch(1);
                SsdTicket ticket = new SsdTicket(i % 2 == 0 ? SsdTicket.Until.STORED : SsdTicket.Until.SYNCED) {
                    @Override
                    protected void done(SsdOutcome how) {
                        Thread.currentThread().interrupt();
                        told.countDown();
                    }
                };
                if (i % 4 < 2) {
                    store.load(Records.key(i % RECORDS), Records.address(memory), ticket, Records.soon());
                } else {
                    store.put(Records.key(1000 + i), Records.address(memory), ticket, Records.soon());
                }
                assertThat(told.await(20, TimeUnit.SECONDS)).isTrue();
                // FULL ends an operation on its I/O thread as well.
                assertThat(ticket.outcome())
                        .isIn(SsdOutcome.LOADED, SsdOutcome.STORED, SsdOutcome.SYNCED, SsdOutcome.FULL);
                store.remove(Records.key(1000 + i));
            }
            assertThat(store.flush(Records.soon())).isTrue();
            assertWhole(store);
        }
    }

    @Test
    void open_interruptedCaller_findsAllRecords() throws Exception {
        filled().close();
        try (SsdStore store = interrupted(this::open)) {
            assertThat(store.statistics().recovered()).isEqualTo(RECORDS);
            assertWhole(store);
        }
    }

    @Test
    void close_interruptedCaller_endsWhatIsQueued() throws Exception {
        SsdTicket[] tickets = new SsdTicket[16];
        ByteBuffer[] memories = new ByteBuffer[tickets.length];
        SsdStore store = SsdStore.open(
                Records.settings(folder, RECORD, 16).commitMillis(50).build());
        for (int i = 0; i < tickets.length; i++) {
            tickets[i] = new SsdTicket(SsdTicket.Until.SYNCED);
            memories[i] = Records.memory(RECORD);
            Records.fill(memories[i], i);
            store.put(Records.key(i), Records.address(memories[i]), tickets[i], Records.soon());
        }
        interrupted(() -> {
            store.close();
            return true;
        });
        for (SsdTicket ticket : tickets) {
            assertThat(ticket.await(Records.soon())).isEqualTo(SsdOutcome.SYNCED);
        }
        try (SsdStore again = open()) {
            assertThat(again.statistics().recovered()).isEqualTo(tickets.length);
        }
    }
}
