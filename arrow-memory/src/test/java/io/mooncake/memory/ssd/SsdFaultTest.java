// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.memory.Seeds;
import io.mooncake.memory.ssd.FaultyDisk.Fault;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Devices that lie, fail and stall: nothing wrong is served, callers get outcomes, and a device that goes on failing is taken out. */
final class SsdFaultTest {
    private static final int RECORD = 8 << 10;
    private static final int SLOTS = 32;
    private static final double RATE = 0.01;

    private static SsdSettings.Builder settings() {
        return Records.settings(Path.of("."), RECORD, SLOTS)
                .segmentBytes((long) RECORD * SLOTS)
                .ioThreads(2)
                .maxErrors(1_000_000)
                .maxDamaged(1_000_000);
    }

    private static SsdStore open(SsdSettings.Builder settings, FaultyDisk disk) {
        return SsdStore.open(settings.build(), disk, System::nanoTime, SsdChecks.ALL);
    }

    /** Operations at random, bytes checked in {@link Records#load}; how often each outcome came. */
    private static Map<SsdOutcome, Integer> work(SsdStore store, SplittableRandom random, int operations) {
        Map<SsdOutcome, Integer> outcomes = new EnumMap<>(SsdOutcome.class);
        for (int i = 0; i < operations; i++) {
            long number = random.nextInt(2 * SLOTS);
            SsdOutcome outcome;
            switch (random.nextInt(8)) {
                case 0, 1 ->
                    outcome = Records.put(
                            store, number, random.nextBoolean() ? SsdTicket.Until.SYNCED : SsdTicket.Until.STORED);
                case 2 -> {
                    store.remove(Records.key(number));
                    continue;
                }
                default -> outcome = Records.load(store, number);
            }
            outcomes.merge(outcome, 1, Integer::sum);
        }
        return outcomes;
    }

    @Test
    void work_deviceLiesAtOnePercent_servesNothingWrong() {
        SplittableRandom random = Seeds.random("lying device");
        FaultyDisk disk = new FaultyDisk(new TestDisk(false)).with(random.split(), RECORD, 5);
        for (Fault fault : new Fault[] {
            Fault.LOST_WRITE,
            Fault.MISDIRECTED_WRITE,
            Fault.MISDIRECTED_READ,
            Fault.STALE_READ,
            Fault.SHORT,
            Fault.STALL
        }) {
            disk.fault(fault, RATE);
        }
        try (SsdStore store = open(settings(), disk)) {
            Map<SsdOutcome, Integer> outcomes = work(store, random, Seeds.count(12_000, 200_000));
            System.out.println("lying device: " + outcomes + ", " + store.statistics());
            assertThat(outcomes).doesNotContainKeys(SsdOutcome.FAILED, SsdOutcome.DISABLED, SsdOutcome.PAUSED);
            assertThat(outcomes.getOrDefault(SsdOutcome.LOADED, 0)).isGreaterThan(1_000);
            // A record may be removed before anybody sees that it is damaged, so there are at most as many as faults.
            long lies = disk.injected(Fault.LOST_WRITE)
                    + 2 * disk.injected(Fault.MISDIRECTED_WRITE)
                    + disk.injected(Fault.MISDIRECTED_READ)
                    + disk.injected(Fault.STALE_READ);
            assertThat(store.statistics().damaged()).isBetween(lies / 4, lies);
            for (Fault fault : new Fault[] {Fault.LOST_WRITE, Fault.MISDIRECTED_READ, Fault.STALE_READ, Fault.SHORT}) {
                assertThat(disk.injected(fault)).as(fault.toString()).isPositive();
            }
        }
    }

    @Test
    void load_liesOfReadsAlone_areAllCaughtAndCounted() {
        SplittableRandom random = Seeds.random("lying reads");
        FaultyDisk disk = new FaultyDisk(new TestDisk(false)).with(random.split(), RECORD, 5);
        try (SsdStore store = open(settings(), disk)) {
            for (int i = 0; i < SLOTS; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
            disk.fault(Fault.MISDIRECTED_READ, RATE).fault(Fault.STALE_READ, RATE);
            int damaged = 0;
            for (int i = 0; i < Seeds.count(10_000, 100_000); i++) {
                long number = random.nextInt(SLOTS);
                if (Records.load(store, number) == SsdOutcome.DAMAGED) {
                    damaged++;
                    assertThat(store.flush(Records.soon())).isTrue();
                    assertThat(Records.putSynced(store, number)).isEqualTo(SsdOutcome.SYNCED);
                }
            }
            long lies = disk.injected(Fault.MISDIRECTED_READ) + disk.injected(Fault.STALE_READ);
            assertThat(lies).isPositive();
            assertThat(damaged).isEqualTo((int) lies);
            assertThat(store.statistics().damaged()).isEqualTo(lies);
            System.out.println("lying reads: " + lies + " injected, " + damaged + " caught");
        }
    }

    @Test
    void work_deviceFailsAtOnePercent_endsEachOperationAndCountsIt() {
        SplittableRandom random = Seeds.random("failing device");
        FaultyDisk disk = new FaultyDisk(new TestDisk(false)).with(random.split(), RECORD, 5);
        disk.fault(Fault.READ_ERROR, RATE).fault(Fault.WRITE_ERROR, RATE).fault(Fault.SYNC_ERROR, RATE);
        try (SsdStore store = open(settings(), disk)) {
            Map<SsdOutcome, Integer> outcomes = work(store, random, Seeds.count(10_000, 100_000));
            System.out.println("failing device: " + outcomes);
            assertThat(outcomes.getOrDefault(SsdOutcome.FAILED, 0)).isPositive();
            assertThat(outcomes.getOrDefault(SsdOutcome.LOADED, 0)).isGreaterThan(1_000);
            assertThat(store.statistics().readErrors()).isEqualTo(disk.injected(Fault.READ_ERROR));
            assertThat(store.statistics().writeErrors())
                    .isEqualTo(disk.injected(Fault.WRITE_ERROR) + disk.injected(Fault.SYNC_ERROR));
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.OPEN);
        }
    }

    @Test
    void load_readsFailAgainAndAgain_takesTheStoreOut() {
        FaultyDisk disk = new FaultyDisk(new TestDisk(false)).with(new SplittableRandom(1), RECORD, 5);
        try (SsdStore store = open(settings().maxErrors(5), disk)) {
            assertThat(Records.putSynced(store, 1)).isEqualTo(SsdOutcome.SYNCED);
            disk.fault(Fault.READ_ERROR, 1);
            for (int i = 0; i < 5; i++) {
                assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.FAILED);
            }
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.DISABLED);
            assertThat(store.status().reason()).contains("injected read error");
            assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.DISABLED);
            assertThat(Records.putSynced(store, 2)).isEqualTo(SsdOutcome.DISABLED);
            assertThat(disk.injected(Fault.READ_ERROR)).isEqualTo(5);
        }
    }

    @Test
    void load_recordsComeBackDamagedAgainAndAgain_takesTheStoreOut() {
        FaultyDisk disk = new FaultyDisk(new TestDisk(false)).with(new SplittableRandom(1), RECORD, 5);
        try (SsdStore store = open(settings().maxDamaged(4), disk)) {
            disk.fault(Fault.LOST_WRITE, 1);
            for (int i = 0; i < 4; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
                assertThat(Records.load(store, i)).isEqualTo(SsdOutcome.DAMAGED);
            }
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.DISABLED);
        }
    }

    @Test
    void load_deviceStalls_keepsDeadlinesAndTakesTheStoreOut() {
        FaultyDisk disk = new FaultyDisk(new TestDisk(false));
        try (SsdStore store = open(settings().maxErrors(6).stallMillis(1_000), disk)) {
            for (int i = 0; i < 4; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
            disk.hold();
            SsdTicket[] tickets = new SsdTicket[4];
            ByteBuffer[] memories = new ByteBuffer[4];
            for (int i = 0; i < 4; i++) {
                tickets[i] = new SsdTicket();
                memories[i] = Records.memory(RECORD);
                store.load(Records.key(i), Records.address(memories[i]), tickets[i]);
            }
            long start = System.nanoTime();
            assertThat(tickets[0].await(Deadline.ofMillis(50))).isEqualTo(SsdOutcome.PENDING);
            assertThat(System.nanoTime() - start).isLessThan(15_000_000_000L);
            Deadline patience = Records.soon();
            while (store.status().state() != SsdStatus.State.DISABLED && !patience.expired()) {
                tickets[0].await(Deadline.ofMillis(20));
            }
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.DISABLED);
            assertThat(store.status().reason()).contains("stall");
            // What waited for an I/O thread is over; what the device still holds keeps its memory.
            assertThat(tickets[2].await(Records.soon())).isEqualTo(SsdOutcome.DISABLED);
            assertThat(tickets[3].await(Records.soon())).isEqualTo(SsdOutcome.DISABLED);
            assertThat(tickets[0].busy()).isTrue();
            assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.DISABLED);
            disk.letGo();
            assertThat(tickets[0].await(Records.soon())).isEqualTo(SsdOutcome.LOADED);
            assertThat(Records.matches(memories[0], 0)).isTrue();
        }
    }

    @Test
    void put_writesFailForAWhile_pausesKeepsReadingAndRecovers() {
        FaultyDisk disk = new FaultyDisk(new TestDisk(false));
        try (SsdStore store = open(settings().maxErrors(3).retryMillis(200), disk)) {
            for (int i = 0; i < 4; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
            disk.die();
            Deadline patience = Records.soon();
            int number = 4;
            while (store.status().state() != SsdStatus.State.PAUSED && !patience.expired()) {
                assertThat(Records.putSynced(store, number++)).isIn(SsdOutcome.FAILED, SsdOutcome.PAUSED);
            }
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.PAUSED);
            assertThat(store.status().reason()).contains("injected");
            for (int i = 0; i < 4; i++) {
                assertThat(Records.load(store, i)).isEqualTo(SsdOutcome.LOADED);
            }
            // Removals are lost on the device for the time being, not in the index.
            assertThat(store.remove(Records.key(0))).isTrue();
            assertThat(Records.load(store, 0)).isEqualTo(SsdOutcome.MISS);
            disk.noFaults();
            SsdOutcome outcome = SsdOutcome.PAUSED;
            while (outcome != SsdOutcome.SYNCED && !patience.expired()) {
                outcome = Records.putSynced(store, 100);
                assertThat(outcome).isIn(SsdOutcome.SYNCED, SsdOutcome.PAUSED, SsdOutcome.FAILED);
            }
            assertThat(outcome).isEqualTo(SsdOutcome.SYNCED);
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.OPEN);
            assertThat(store.flush(Records.soon())).isTrue();
        }
        disk.noFaults();
        try (SsdStore store = open(settings(), disk)) {
            assertThat(Records.load(store, 0)).isEqualTo(SsdOutcome.MISS);
            assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.LOADED);
            assertThat(Records.load(store, 100)).isEqualTo(SsdOutcome.LOADED);
        }
    }

    @Test
    void put_diskFullForGood_commitsGoOnThroughBothIndexFiles() {
        FaultyDisk disk = new FaultyDisk(new TestDisk(false));
        try (SsdStore store = open(settings(), disk)) {
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
            disk.fillUp();
            for (int i = 1; i < 600; i++) {
                assertThat(store.remove(Records.key(i - 1))).isTrue();
                assertThat(store.flush(Records.soon())).isTrue();
                assertThat(Records.putSynced(store, i)).as("record %d", i).isEqualTo(SsdOutcome.SYNCED);
            }
            assertThat(store.statistics().checkpoints()).isGreaterThan(3);
        }
    }

    @Test
    void scrub_deviceStalls_keepsItsDeadlineAndIsDoneOnceItAnswers() {
        FaultyDisk disk = new FaultyDisk(new TestDisk(false));
        try (SsdStore store = open(settings(), disk)) {
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
            disk.hold();
            long start = System.nanoTime();
            assertThat(store.scrub(Deadline.ofMillis(100))).isEqualTo(-1);
            assertThat(System.nanoTime() - start).isLessThan(15_000_000_000L);
            disk.letGo();
            assertThat(store.scrub(Records.soon())).isZero();
        } finally {
            disk.letGo();
        }
    }

    @Test
    void put_noRoomInTheFileSystem_isFullAndGoesOnWhenThereIs() {
        TestDisk disk = new TestDisk(false);
        disk.room(0);
        SsdSettings settings = Records.settings(Path.of("."), RECORD, SLOTS)
                .segmentBytes(4L * RECORD)
                .retryMillis(100)
                .build();
        try (SsdStore store = SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL)) {
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.FULL);
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.NO_ROOM);
            disk.room(4L * RECORD);
            Deadline patience = Records.soon();
            SsdOutcome outcome = SsdOutcome.FULL;
            while (outcome == SsdOutcome.FULL && !patience.expired()) {
                outcome = Records.putSynced(store, 0);
            }
            assertThat(outcome).isEqualTo(SsdOutcome.SYNCED);
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.OPEN);
        }
    }
}
