// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The end of a store whose device has not answered yet. */
final class SsdCloseTest {
    private static final int RECORD = 8 << 10;

    /** Says when it is closed. */
    private static final class ClosingDisk extends ForwardingDevice {
        private final CountDownLatch closed = new CountDownLatch(1);

        ClosingDisk(SsdDevice device) {
            super(device);
        }

        @Override
        public void close() {
            closed.countDown();
            super.close();
        }
    }

    private final FaultyDisk faulty = new FaultyDisk(new TestDisk(false));
    private final ClosingDisk disk = new ClosingDisk(faulty);

    private SsdStore open(int ioThreads) {
        SsdSettings settings = Records.settings(Path.of("."), RECORD, 32)
                .ioThreads(ioThreads)
                .stallMillis(500)
                .build();
        return SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL);
    }

    @Test
    void close_deviceStalls_endsByItsDeadlineAndLetsGoWhenItAnswers() throws Exception {
        SsdStore store = open(2);
        assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
        faulty.hold();
        ByteBuffer memory = Records.memory(RECORD);
        SsdTicket ticket = new SsdTicket();
        store.load(Records.key(0), Records.address(memory), ticket);
        faulty.awaitHeld();
        long start = System.nanoTime();
        store.close();
        assertThat(System.nanoTime() - start).isBetween(350_000_000L, 30_000_000_000L);
        assertThat(store.contains(Records.key(0))).isFalse();
        assertThat(ticket.busy()).isTrue();
        assertThat(disk.closed.getCount()).as("files are open to the device").isEqualTo(1);
        faulty.letGo();
        assertThat(ticket.await(Records.soon())).isEqualTo(SsdOutcome.LOADED);
        assertThat(Records.matches(memory, 0)).isTrue();
        assertThat(disk.closed.await(20, TimeUnit.SECONDS))
                .as("the folder is free")
                .isTrue();
    }

    @Test
    void close_writeStillInTheDevice_endsItsTicketWhenItAnswers() throws Exception {
        SsdStore store = open(1);
        assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
        faulty.hold();
        ByteBuffer memory = Records.memory(RECORD);
        Records.fill(memory, 1);
        SsdTicket ticket = new SsdTicket(SsdTicket.Until.SYNCED);
        store.put(Records.key(1), Records.address(memory), ticket);
        faulty.awaitHeld();
        store.close();
        assertThat(ticket.await(Deadline.ofMillis(1))).isEqualTo(SsdOutcome.PENDING);
        faulty.letGo();
        assertThat(ticket.await(Records.soon())).isEqualTo(SsdOutcome.CLOSED);
    }

    @Test
    void close_oneThreadStalls_theLastCommitStillHappens() throws Exception {
        TestDisk memoryDisk = new TestDisk(false);
        HookedDisk hooked = new HookedDisk(memoryDisk);
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch held = new CountDownLatch(1);
        SsdSettings settings = Records.settings(Path.of("."), RECORD, 32)
                .ioThreads(2)
                .commitMillis(10_000)
                .stallMillis(2_000)
                .build();
        SsdStore store = SsdStore.open(settings, hooked, System::nanoTime, SsdChecks.ALL);
        assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
        hooked.hook((operation, name, offset) -> {
            if (operation.equals("read") && name.startsWith("segment")) {
                held.countDown();
                awaitQuietly(gate);
            }
            if (operation.equals("sync") && name.startsWith("segment")) {
                // A commit that takes its time, as of a slow device: less than its share.
                sleepQuietly(50);
            }
        });
        ByteBuffer memory = Records.memory(RECORD);
        SsdTicket stalled = new SsdTicket();
        store.load(Records.key(0), Records.address(memory), stalled);
        assertThat(held.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(Records.put(store, 1, SsdTicket.Until.STORED)).isEqualTo(SsdOutcome.STORED);
        store.close();
        // What the device has when close() is over, before the one that stalls goes on.
        TestDisk image = memoryDisk.copy();
        gate.countDown();
        assertThat(stalled.await(Records.soon())).isEqualTo(SsdOutcome.LOADED);
        try (SsdStore again = SsdStore.open(settings, image, System::nanoTime, SsdChecks.ALL)) {
            assertThat(Records.load(again, 1)).isEqualTo(SsdOutcome.LOADED);
        }
    }

    /** A busy machine: whoever closes the store sleeps through the time that it has for that. */
    @Test
    @SuppressWarnings({"deprecation", "removal"}) // Thread.suspend: nothing else makes a thread late from outside
    void close_closingThreadIsLate_theLastCommitStillHappens() throws Exception {
        TestDisk memoryDisk = new TestDisk(false);
        HookedDisk hooked = new HookedDisk(memoryDisk);
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch held = new CountDownLatch(1);
        SsdSettings settings = Records.settings(Path.of("."), RECORD, 32)
                .ioThreads(2)
                .commitMillis(10_000)
                .stallMillis(1_000)
                .build();
        SsdStore store = SsdStore.open(settings, hooked, System::nanoTime, SsdChecks.ALL);
        assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
        hooked.hook((operation, name, offset) -> {
            if (operation.equals("read") && name.startsWith("segment")) {
                held.countDown();
                awaitQuietly(gate);
            }
            if (operation.equals("sync") && name.startsWith("segment")) {
                sleepQuietly(100);
            }
        });
        ByteBuffer memory = Records.memory(RECORD);
        SsdTicket stalled = new SsdTicket();
        store.load(Records.key(0), Records.address(memory), stalled);
        assertThat(held.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(Records.put(store, 1, SsdTicket.Until.STORED)).isEqualTo(SsdOutcome.STORED);
        Thread closer = new Thread(store::close, "closer");
        closer.start();
        Deadline patience = Records.soon();
        while (closer.getState() != Thread.State.TIMED_WAITING && !patience.expired()) {
            Thread.onSpinWait();
        }
        closer.suspend();
        sleepQuietly(1_200);
        closer.resume();
        closer.join(60_000);
        assertThat(closer.isAlive()).isFalse();
        TestDisk image = memoryDisk.copy();
        gate.countDown();
        assertThat(stalled.await(Records.soon())).isEqualTo(SsdOutcome.LOADED);
        try (SsdStore again = SsdStore.open(settings, image, System::nanoTime, SsdChecks.ALL)) {
            assertThat(Records.load(again, 1)).isEqualTo(SsdOutcome.LOADED);
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void sleepQuietly(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
