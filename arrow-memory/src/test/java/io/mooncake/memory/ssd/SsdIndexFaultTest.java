// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.Seeds;
import io.mooncake.memory.ssd.FaultyDisk.Fault;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * A device that lies and fails in the index alone, over many lives of a store. What the index has lost is a miss, what it names wrongly is
 * damaged: no wrong byte is served, and no slot is lost.
 */
final class SsdIndexFaultTest {
    private static final int RECORD = 4 << 10;
    private static final int SLOTS = 24;

    private static SsdStore open(FaultyDisk disk) {
        SsdSettings settings = Records.settings(Path.of("."), RECORD, SLOTS)
                .segmentBytes((long) RECORD * SLOTS)
                .ioThreads(2)
                .maxErrors(1_000_000)
                .maxDamaged(1_000_000)
                .retryMillis(100)
                .build();
        return SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL);
    }

    /** Operations at random; bytes are checked in {@link Records#load}. Keys told synced, and not removed since, are in {@code synced}. */
    private static Map<SsdOutcome, Integer> work(
            SsdStore store, SplittableRandom random, int operations, Set<Long> synced) {
        Map<SsdOutcome, Integer> outcomes = new EnumMap<>(SsdOutcome.class);
        for (int i = 0; i < operations; i++) {
            long number = random.nextInt(2 * SLOTS);
            SsdOutcome outcome;
            switch (random.nextInt(6)) {
                case 0, 1 -> {
                    outcome = Records.putSynced(store, number);
                    if (outcome == SsdOutcome.SYNCED) {
                        synced.add(number);
                    }
                }
                case 2 -> {
                    store.remove(Records.key(number));
                    synced.remove(number);
                    continue;
                }
                default -> outcome = Records.load(store, number);
            }
            outcomes.merge(outcome, 1, Integer::sum);
        }
        return outcomes;
    }

    private static void assertNoSlotIsLost(SsdStore store) {
        store.forEach((key, generation) -> store.remove(key));
        assertThat(store.flush(Records.soon())).isTrue();
        for (long i = 0; i < SLOTS; i++) {
            assertThat(Records.putSynced(store, 1_000 + i)).as("slot %d", i).isEqualTo(SsdOutcome.SYNCED);
            assertThat(Records.load(store, 1_000 + i)).isEqualTo(SsdOutcome.LOADED);
        }
        store.forEach((key, generation) -> store.remove(key));
        assertThat(store.flush(Records.soon())).isTrue();
    }

    @Test
    void work_indexIsLostMisdirectedAndStale_servesNothingWrongOverManyLives() {
        SplittableRandom random = Seeds.random("lying index");
        FaultyDisk disk = new FaultyDisk(new TestDisk(false)).with(random.split(), RECORD, 5);
        disk.of("index");
        Fault[] lies = {Fault.LOST_WRITE, Fault.MISDIRECTED_WRITE, Fault.MISDIRECTED_READ, Fault.STALE_READ, Fault.SHORT
        };
        Map<SsdOutcome, Integer> outcomes = new EnumMap<>(SsdOutcome.class);
        long lost = 0;
        long damaged = 0;
        for (int life = 0; life < Seeds.count(40, 1_000); life++) {
            Set<Long> synced = new HashSet<>();
            for (Fault lie : lies) {
                disk.fault(lie, 0.02);
            }
            try (SsdStore store = open(disk)) {
                work(store, random, 80, synced)
                        .forEach((outcome, count) -> outcomes.merge(outcome, count, Integer::sum));
            }
            disk.noFaults();
            try (SsdStore store = open(disk)) {
                for (long number = 0; number < 2 * SLOTS; number++) {
                    SsdOutcome outcome = Records.load(store, number);
                    assertThat(outcome).isIn(SsdOutcome.LOADED, SsdOutcome.MISS, SsdOutcome.DAMAGED);
                    lost += synced.contains(number) && outcome == SsdOutcome.MISS ? 1 : 0;
                    damaged += outcome == SsdOutcome.DAMAGED ? 1 : 0;
                }
                assertNoSlotIsLost(store);
            }
        }
        System.out.println(
                "lying index: " + outcomes + "; told synced and lost: " + lost + ", named wrongly: " + damaged);
        for (Fault lie : lies) {
            assertThat(disk.injected(lie)).as(lie.toString()).isPositive();
        }
        assertThat(lost).as("the index was struck").isPositive();
        assertThat(outcomes).doesNotContainKeys(SsdOutcome.DISABLED);
    }

    @Test
    void work_writesAndSyncsOfTheIndexFail_losesNothingThatWasToldSynced() {
        SplittableRandom random = Seeds.random("failing index");
        FaultyDisk disk = new FaultyDisk(new TestDisk(false)).with(random.split(), RECORD, 5);
        disk.of("index");
        Map<SsdOutcome, Integer> outcomes = new EnumMap<>(SsdOutcome.class);
        Set<Long> synced = new HashSet<>();
        for (int life = 0; life < Seeds.count(30, 1_000); life++) {
            disk.fault(Fault.WRITE_ERROR, 0.05).fault(Fault.SYNC_ERROR, 0.05).fault(Fault.READ_ERROR, 0.02);
            try (SsdStore store = open(disk)) {
                work(store, random, 60, synced)
                        .forEach((outcome, count) -> outcomes.merge(outcome, count, Integer::sum));
                assertThat(store.statistics().damaged()).isZero();
            }
            disk.noFaults();
            try (SsdStore store = open(disk)) {
                for (long number : synced) {
                    assertThat(Records.load(store, number))
                            .as("life %d, record %d", life, number)
                            .isEqualTo(SsdOutcome.LOADED);
                }
            }
        }
        System.out.println("failing index: " + outcomes);
        assertThat(outcomes.getOrDefault(SsdOutcome.FAILED, 0)).isPositive();
        assertThat(disk.injected(Fault.WRITE_ERROR)).isPositive();
        assertThat(disk.injected(Fault.SYNC_ERROR)).isPositive();
        try (SsdStore store = open(disk)) {
            assertNoSlotIsLost(store);
        }
    }
}
