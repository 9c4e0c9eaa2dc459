// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Writes of a key that is on its way already: PRESENT is said of what is there, and of what is synced where that was asked for. */
final class SsdSameKeyTest {
    private static final int RECORD = 8 << 10;

    private final ByteBuffer memory = Records.memory(RECORD);

    private static SsdStore open(SsdDevice disk) {
        SsdSettings settings =
                Records.settings(Path.of("."), RECORD, 32).ioThreads(1).build();
        return SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL);
    }

    private SsdTicket start(SsdStore store, SsdTicket.Until until) {
        Records.fill(memory, 1);
        SsdTicket ticket = new SsdTicket(until);
        store.put(Records.key(1), Records.address(memory), ticket);
        return ticket;
    }

    @Test
    void put_keyIsBeingWritten_isBusyAndRemovedOnce() {
        FaultyDisk disk = new FaultyDisk(new TestDisk(false));
        try (SsdStore store = open(disk)) {
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
            disk.hold();
            SsdTicket first = start(store, SsdTicket.Until.STORED);
            disk.awaitHeld();
            assertThat(start(store, SsdTicket.Until.STORED).outcome()).isEqualTo(SsdOutcome.BUSY);
            assertThat(store.remove(Records.key(1))).isTrue();
            assertThat(store.remove(Records.key(1))).isFalse();
            assertThat(start(store, SsdTicket.Until.SYNCED).outcome()).isEqualTo(SsdOutcome.BUSY);
            disk.letGo();
            assertThat(first.await(Records.soon())).isEqualTo(SsdOutcome.REMOVED);
            assertThat(store.statistics().removed()).isEqualTo(1);
            assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.MISS);
            assertThat(Records.putSynced(store, 1)).isEqualTo(SsdOutcome.SYNCED);
        } finally {
            disk.letGo();
        }
    }

    /** Holds the first sync of a file of {@code kind} after the first record, which then works or fails. */
    private void joinACommit(String kind, boolean fails, boolean removed, SsdOutcome expected) throws Exception {
        HookedDisk disk = new HookedDisk(new TestDisk(false));
        CountDownLatch inSync = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        try (SsdStore store = open(disk)) {
            disk.hook((operation, name, offset) -> {
                if (operation.equals("sync") && name.startsWith(kind) && inSync.getCount() > 0) {
                    inSync.countDown();
                    awaitQuietly(gate);
                    if (fails) {
                        throw new IOException("injected: sync");
                    }
                }
            });
            assertThat(start(store, SsdTicket.Until.STORED).await(Records.soon()))
                    .isEqualTo(SsdOutcome.STORED);
            assertThat(inSync.await(20, TimeUnit.SECONDS)).isTrue();
            assertThat(start(store, SsdTicket.Until.STORED).outcome()).isEqualTo(SsdOutcome.PRESENT);
            SsdTicket[] waiting = {start(store, SsdTicket.Until.SYNCED), start(store, SsdTicket.Until.SYNCED)};
            assertThat(waiting[0].await(Deadline.ofMillis(50))).isEqualTo(SsdOutcome.PENDING);
            if (removed) {
                assertThat(store.remove(Records.key(1))).isTrue();
            }
            gate.countDown();
            for (SsdTicket ticket : waiting) {
                assertThat(ticket.await(Records.soon())).isEqualTo(expected);
            }
            assertThat(start(store, SsdTicket.Until.SYNCED).await(Records.soon()))
                    .isEqualTo(expected == SsdOutcome.PRESENT ? SsdOutcome.PRESENT : SsdOutcome.SYNCED);
        } finally {
            gate.countDown();
        }
    }

    @Test
    void putSynced_recordIsNotSyncedYet_waitsForItsCommit() throws Exception {
        joinACommit("segment", false, false, SsdOutcome.PRESENT);
    }

    /** In the first commit the whole index is written: what is in it counts only when that is over. */
    @Test
    void putSynced_indexIsBeingWrittenAnew_waitsForIt() throws Exception {
        joinACommit("index", false, false, SsdOutcome.PRESENT);
    }

    @Test
    void putSynced_commitOfTheRecordFails_failsToo() throws Exception {
        joinACommit("segment", true, false, SsdOutcome.FAILED);
        joinACommit("index", true, false, SsdOutcome.FAILED);
    }

    @Test
    void putSynced_recordIsRemovedBeforeItsCommit_isRemoved() throws Exception {
        joinACommit("segment", false, true, SsdOutcome.REMOVED);
    }

    private static void awaitQuietly(CountDownLatch latch) throws IOException {
        try {
            assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }
}
