// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** A device that stalls where no record is read or written: in the index, and in the making of a file. */
final class SsdStallTest {
    private static final int RECORD = 8 << 10;

    /** Holds the first {@code operation} on a file of {@code kind} after the first record; the store must go out. */
    private static void stall(String operation, String kind) throws Exception {
        HookedDisk disk = new HookedDisk(new TestDisk(false));
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        // Two slots a file: the third record needs another one.
        SsdSettings settings = Records.settings(Path.of("."), RECORD, 32)
                .segmentBytes(2L * RECORD)
                .ioThreads(1)
                .maxErrors(3)
                .stallMillis(1_000)
                .build();
        try (SsdStore store = SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL)) {
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
            assertThat(Records.putSynced(store, 1)).isEqualTo(SsdOutcome.SYNCED);
            disk.hook((what, name, offset) -> {
                if (what.equals(operation) && name.startsWith(kind)) {
                    held.countDown();
                    awaitQuietly(gate);
                }
            });
            ByteBuffer memory = Records.memory(RECORD);
            SsdTicket ticket = new SsdTicket(SsdTicket.Until.SYNCED);
            store.put(Records.key(2), Records.address(memory), ticket);
            if (operation.equals("read")) {
                assertThat(store.scrub(Deadline.ofMillis(200))).isEqualTo(-1);
            }
            assertThat(held.await(20, TimeUnit.SECONDS)).isTrue();
            Deadline patience = Records.soon();
            while (store.status().state() != SsdStatus.State.DISABLED && !patience.expired()) {
                Thread.sleep(10);
            }
            assertThat(store.status().state())
                    .as("%s of the %s stalls", operation, kind)
                    .isEqualTo(SsdStatus.State.DISABLED);
            assertThat(store.status().reason()).contains("stall");
            gate.countDown();
            assertThat(ticket.await(Records.soon())).isNotEqualTo(SsdOutcome.PENDING);
        } finally {
            gate.countDown();
        }
    }

    @Test
    void put_writeOfTheIndexStalls_takesTheStoreOut() throws Exception {
        stall("write", "index");
    }

    @Test
    void put_syncOfTheIndexStalls_takesTheStoreOut() throws Exception {
        stall("sync", "index");
    }

    @Test
    void scrub_readOfTheIndexStalls_takesTheStoreOut() throws Exception {
        stall("read", "index");
    }

    @Test
    void put_makingAFileStalls_takesTheStoreOut() throws Exception {
        stall("create", "segment");
    }

    /** One stall a second is too few a minute, but the operation never comes back. By a clock that runs where the keeper looks. */
    @Test
    void load_oneReadNeverEnds_takesTheStoreOut() throws Exception {
        HookedDisk disk = new HookedDisk(new TestDisk(false));
        CountDownLatch gate = new CountDownLatch(1);
        AtomicLong now = new AtomicLong();
        LongSupplier clock = () -> Thread.currentThread().getName().equals("mooncake-ssd-keeper")
                ? now.addAndGet(900_000_000L)
                : now.addAndGet(1_000);
        SsdSettings settings = Records.settings(Path.of("."), RECORD, 8)
                .ioThreads(1)
                .maxErrors(63)
                .stallMillis(1_000)
                .build();
        try (SsdStore store = SsdStore.open(settings, disk, clock, SsdChecks.ALL)) {
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
            disk.hook((what, name, offset) -> {
                if (what.equals("read")) {
                    awaitQuietly(gate);
                }
            });
            ByteBuffer memory = Records.memory(RECORD);
            SsdTicket ticket = new SsdTicket();
            store.load(Records.key(0), Records.address(memory), ticket);
            Deadline patience = Records.soon();
            while (store.status().state() != SsdStatus.State.DISABLED && !patience.expired()) {
                Thread.sleep(10);
            }
            assertThat(store.status().reason()).contains("stall");
            gate.countDown();
            assertThat(ticket.await(Records.soon())).isNotEqualTo(SsdOutcome.PENDING);
            memory.get(0);
        } finally {
            gate.countDown();
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
