// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.Seeds;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Power cuts: the device ends with any number of sectors of what was written, in order, or with any of those that were not synced. What was
 * reported as synced is there, with its bytes; everything else is there with its bytes or is not there.
 */
final class SsdCrashTest {
    private static final int LAST_BYTES = 1 << 20;

    /** What a person was told, and how far the device was by then. */
    private record Promise(long number, boolean stored, int event) {}

    private final List<Promise> promises = new ArrayList<>();

    private static SsdStore open(TestDisk disk, int recordBytes, int slots) {
        SsdSettings settings = Records.settings(Path.of("."), recordBytes, slots)
                .segmentBytes(64L * recordBytes)
                .ioThreads(1)
                .build();
        return SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL);
    }

    private void put(SsdStore store, TestDisk disk, long number) {
        SsdOutcome outcome = Records.putSynced(store, number);
        if (outcome == SsdOutcome.FULL) {
            // The slot that was given up is not free before that is durable.
            assertThat(store.flush(Records.soon())).isTrue();
            outcome = Records.putSynced(store, number);
        }
        assertThat(outcome).isEqualTo(SsdOutcome.SYNCED);
        promises.add(new Promise(number, true, disk.events()));
    }

    private void remove(SsdStore store, TestDisk disk, long number) {
        // From here on the record may be there or not.
        promises.add(new Promise(number, false, disk.events()));
        assertThat(store.remove(Records.key(number))).isTrue();
    }

    /** Opens the image and holds it against what was promised by {@code place}. */
    private void check(TestDisk image, int recordBytes, int slots, int place, int[] placesOfPromises) {
        Map<Long, Boolean> mustBeThere = new LinkedHashMap<>();
        for (int i = 0; i < promises.size() && placesOfPromises[i] <= place; i++) {
            mustBeThere.put(promises.get(i).number(), promises.get(i).stored());
        }
        try (SsdStore store = open(image, recordBytes, slots)) {
            long first = promises.get(0).number();
            long last = promises.stream().mapToLong(Promise::number).max().orElse(first);
            for (long number = first; number <= last; number++) {
                SsdOutcome outcome = Records.load(store, number);
                if (mustBeThere.getOrDefault(number, false)) {
                    assertThat(outcome)
                            .as("record %d, cut at %d", number, place)
                            .isEqualTo(SsdOutcome.LOADED);
                } else {
                    // Never damaged: the index names no bytes that are not on the device, and no slot that was written
                    // again.
                    assertThat(outcome)
                            .as("record %d, cut at %d", number, place)
                            .isIn(SsdOutcome.LOADED, SsdOutcome.MISS);
                }
            }
        }
    }

    private int[] placesOfPromises(TestDisk disk) {
        return promises.stream()
                .mapToInt(promise -> disk.placesBefore(promise.event()))
                .toArray();
    }

    @Test
    void cut_atEachSectorOfTheLastMebibyte_keepsWhatWasSynced() {
        int record = 96 << 10;
        int slots = 8;
        TestDisk disk = new TestDisk(true);
        try (SsdStore store = open(disk, record, slots)) {
            for (int i = 0; i < 8; i++) {
                put(store, disk, i);
            }
            // Slots are written again, in the order in which they came free.
            for (int i = 0; i < 7; i++) {
                remove(store, disk, i);
                put(store, disk, 8 + i);
            }
        }
        int places = disk.places();
        int[] placesOfPromises = placesOfPromises(disk);
        TestDisk.Cutter cutter = disk.cutter();
        int checked = 0;
        for (int place = 1; place <= places; place++) {
            cutter.step();
            if (place > places - LAST_BYTES / TestDisk.SECTOR) {
                check(cutter.inOrder(), record, slots, place, placesOfPromises);
                checked++;
            }
        }
        System.out.println("power cuts: " + checked + " places in the last " + LAST_BYTES + " bytes");
        assertThat(checked).isGreaterThanOrEqualTo(LAST_BYTES / TestDisk.SECTOR);
    }

    @Test
    void cut_anywhereWithSectorsInAnyOrder_keepsWhatWasSynced() {
        SplittableRandom random = Seeds.random("power cuts");
        int record = 8 << 10;
        int slots = 6;
        TestDisk disk = new TestDisk(true);
        List<Long> there = new ArrayList<>();
        long next = 0;
        // More commits than an index file has pages, so that both are written anew in between.
        try (SsdStore store = open(disk, record, slots)) {
            for (int i = 0; i < Seeds.count(600, 3_000); i++) {
                if (there.size() < slots && random.nextBoolean()) {
                    there.add(next);
                    put(store, disk, next++);
                } else if (!there.isEmpty()) {
                    remove(store, disk, there.remove(random.nextInt(there.size())));
                }
            }
        }
        int places = disk.places();
        int[] placesOfPromises = placesOfPromises(disk);
        TestDisk.Cutter cutter = disk.cutter();
        int cuts = Seeds.count(250, 20_000);
        int checked = 0;
        for (int place = 1; place <= places; place++) {
            cutter.step();
            if (random.nextInt(places) < cuts) {
                check(cutter.anyOrder(random), record, slots, place, placesOfPromises);
                checked++;
            }
        }
        System.out.println("power cuts: " + checked + " rounds at random places");
        assertThat(checked).isPositive();
    }
}
