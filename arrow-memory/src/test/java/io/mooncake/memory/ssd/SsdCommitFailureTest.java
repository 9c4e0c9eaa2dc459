// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Single failures at the worst moment of a commit, a checkpoint and a device's end. */
final class SsdCommitFailureTest {
    private static final int RECORD = 8 << 10;

    private static SsdStore open(SsdSettings settings, SsdDevice disk) {
        return SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL);
    }

    /** The header of the checkpoint that failed is on the device; the power goes while the next one is written over its pages. */
    @Test
    void checkpoint_cutAfterOneThatFailedAtItsLastSync_losesNoRecord() throws IOException {
        int slots = 40_000;
        int records = 20_000;
        TestDisk disk = new TestDisk(false);
        SsdSettings settings = Records.settings(Path.of("."), 4096, slots).build();
        SlotTable table = new SlotTable(slots);
        for (int i = 0; i < records; i++) {
            table.recover(Records.key(i), i + 1, i, ~i);
        }
        try (IndexJournal first = new IndexJournal(disk, settings, 7)) {
            first.recover(new SlotTable(slots));
            first.checkpoint(table);
        }
        HookedDisk hooked = new HookedDisk(disk);
        try (IndexJournal journal = new IndexJournal(hooked, settings, 7)) {
            SlotTable live = new SlotTable(slots);
            journal.recover(live);
            AtomicBoolean footer = new AtomicBoolean();
            AtomicInteger pages = new AtomicInteger();
            hooked.hook((operation, name, offset) -> {
                footer.compareAndSet(false, operation.equals("write") && offset == 0 && pages.get() > 0);
                pages.addAndGet(operation.equals("write") && offset > 0 ? 1 : 0);
                if (operation.equals("sync") && footer.get()) {
                    throw new IOException("injected: the last sync");
                }
            });
            assertThatThrownBy(() -> journal.checkpoint(live)).hasMessageContaining("the last sync");
            AtomicReference<TestDisk> image = new AtomicReference<>();
            hooked.hook((operation, name, offset) -> {
                if (operation.equals("write") && offset > 4096 && offset < 1 << 21 && image.get() == null) {
                    image.set(disk.copy());
                }
            });
            journal.checkpoint(live);
            SlotTable after = new SlotTable(slots);
            try (IndexJournal again = new IndexJournal(image.get(), settings, 7)) {
                again.recover(after);
            }
            assertThat(after.live()).isEqualTo(records);
        }
    }

    /** A failed sync may drop what was written before it, and the next one does not say so. */
    @Test
    void put_syncFailsWhileAnotherRecordIsWritten_isNotToldSynced() throws Exception {
        HookedDisk disk = new HookedDisk(new TestDisk(false));
        CountDownLatch written = new CountDownLatch(1);
        CountDownLatch inSync = new CountDownLatch(1);
        AtomicBoolean armed = new AtomicBoolean();
        try (SsdStore store = open(Records.settings(Path.of("."), RECORD, 8).build(), disk)) {
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
            armed.set(true);
            disk.hook((operation, name, offset) -> {
                if (!name.startsWith("segment")) {
                    return;
                }
                if (operation.equals("sync") && armed.compareAndSet(true, false)) {
                    inSync.countDown();
                    awaitQuietly(written);
                    throw new IOException("injected: sync");
                }
            });
            ByteBuffer memory = Records.memory(RECORD);
            SsdTicket first = new SsdTicket(SsdTicket.Until.SYNCED);
            store.put(Records.key(1), Records.address(memory), first);
            assertThat(inSync.await(20, TimeUnit.SECONDS)).isTrue();
            assertThat(Records.put(store, 2, SsdTicket.Until.STORED)).isEqualTo(SsdOutcome.STORED);
            written.countDown();
            assertThat(first.await(Records.soon())).isEqualTo(SsdOutcome.FAILED);
            assertThat(store.flush(Records.soon())).isTrue();
            assertThat(store.contains(Records.key(2))).isFalse();
            assertThat(Records.putSynced(store, 2)).isEqualTo(SsdOutcome.SYNCED);
            assertThat(Records.load(store, 2)).isEqualTo(SsdOutcome.LOADED);
        }
    }

    @Test
    void put_oneWriteOfTheIndexFails_isFailedAndTheStoreGoesOn() {
        HookedDisk disk = new HookedDisk(new TestDisk(false));
        AtomicBoolean armed = new AtomicBoolean();
        disk.hook((operation, name, offset) -> {
            if (operation.equals("write") && name.startsWith("index") && armed.compareAndSet(true, false)) {
                throw new IOException("injected: index write");
            }
        });
        int slots = 200;
        try (SsdStore store = open(Records.settings(Path.of("."), 4096, slots).build(), disk)) {
            // More entries than the one page that the buffer's limit was left at.
            for (int i = 0; i < slots - 20; i++) {
                assertThat(Records.put(store, i, SsdTicket.Until.STORED)).isEqualTo(SsdOutcome.STORED);
            }
            assertThat(store.flush(Records.soon())).isTrue();
            assertThat(Records.putSynced(store, 500)).isEqualTo(SsdOutcome.SYNCED);
            armed.set(true);
            assertThat(Records.putSynced(store, 501)).isEqualTo(SsdOutcome.FAILED);
            assertThat(Records.putSynced(store, 502)).isIn(SsdOutcome.SYNCED, SsdOutcome.FAILED);
            assertThat(store.flush(Records.soon())).isTrue();
            assertThat(Records.putSynced(store, 503)).isEqualTo(SsdOutcome.SYNCED);
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.OPEN);
        }
    }

    @Test
    void load_waitingForAPlaceWhenTheStoreIsTakenOut_ends() throws Exception {
        FaultyDisk disk = new FaultyDisk(new TestDisk(false));
        SsdSettings settings = Records.settings(Path.of("."), RECORD, 32)
                .ioThreads(1)
                .queueRecords(1)
                .maxErrors(3)
                .stallMillis(1_000)
                .build();
        try (SsdStore store = open(settings, disk)) {
            for (int i = 0; i < 4; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
            disk.hold();
            List<SsdTicket> tickets = new ArrayList<>();
            List<Thread> callers = new ArrayList<>();
            ByteBuffer[] memories = new ByteBuffer[4];
            for (int i = 0; i < 4; i++) {
                int number = i;
                memories[i] = Records.memory(RECORD);
                SsdTicket ticket = new SsdTicket();
                tickets.add(ticket);
                Thread caller = new Thread(() ->
                        store.load(Records.key(number), Records.address(memories[number]), ticket, Records.soon()));
                caller.start();
                callers.add(caller);
                if (i == 0) {
                    disk.awaitHeld();
                }
            }
            for (Thread caller : callers) {
                caller.join(20_000);
            }
            // The first is with the device, which does not answer.
            for (SsdTicket ticket : tickets.subList(1, 4)) {
                assertThat(ticket.await(Deadline.ofMillis(5_000))).isEqualTo(SsdOutcome.DISABLED);
            }
            disk.letGo();
            assertThat(tickets.get(0).await(Records.soon())).isEqualTo(SsdOutcome.LOADED);
        } finally {
            disk.letGo();
        }
    }

    private static void awaitQuietly(CountDownLatch latch) throws IOException {
        try {
            assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }
}
