// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.memory.Seeds;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Bits that flip at rest, in data, headers, index and footer: each is found, none is served. */
final class SsdDamageTest {
    private static final int RECORD = 16 << 10;
    private static final int SLOTS = 64;
    private static final int PAGE = IndexDescriptor.PAGE_BYTES;

    private static SsdStore open(TestDisk disk, SsdChecks checks) {
        SsdSettings settings = Records.settings(Path.of("."), RECORD, SLOTS)
                .segmentBytes(1L << 30)
                .maxDamaged(1_000_000)
                .build();
        return SsdStore.open(settings, disk, System::nanoTime, checks);
    }

    private static TestDisk filled() {
        TestDisk disk = new TestDisk(false);
        try (SsdStore store = open(disk, SsdChecks.ALL)) {
            for (int i = 0; i < SLOTS; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
        }
        return disk;
    }

    @Test
    void load_bitFlippedInARecord_isDamagedEachTime() {
        SplittableRandom random = Seeds.random("bit flips in records");
        int flips = Seeds.count(400, 4_000);
        TestDisk disk = filled();
        try (SsdStore store = open(disk, SsdChecks.ALL)) {
            for (int i = 0; i < flips; i++) {
                // The block's own header is the first page of its record.
                int bits = i % 4 == 0 ? PAGE * 8 : RECORD * 8;
                disk.flip("segment-0", (long) random.nextInt(SLOTS) * RECORD * 8 + random.nextInt(bits));
                int damaged = 0;
                for (int record = 0; record < SLOTS; record++) {
                    SsdOutcome outcome = Records.load(store, record);
                    if (outcome == SsdOutcome.DAMAGED) {
                        damaged++;
                        assertThat(Records.load(store, record)).isEqualTo(SsdOutcome.MISS);
                        assertThat(store.flush(Records.soon())).isTrue();
                        assertThat(Records.putSynced(store, record)).isEqualTo(SsdOutcome.SYNCED);
                    } else {
                        assertThat(outcome).isEqualTo(SsdOutcome.LOADED);
                    }
                }
                assertThat(damaged).as("flip %d", i).isEqualTo(1);
            }
            assertThat(store.statistics().damaged()).isEqualTo(flips);
        }
        System.out.println("bit flips in records: " + flips + " injected, " + flips + " found");
    }

    @Test
    void scrub_bitFlippedInARecordOrTheIndex_findsAndRepairs() {
        SplittableRandom random = Seeds.random("bit flips for the scrubber");
        int flips = Seeds.count(300, 3_000);
        TestDisk disk = filled();
        try (SsdStore store = open(disk, SsdChecks.ALL)) {
            // The first commit writes the index anew.
            assertThat(store.remove(Records.key(0))).isTrue();
            assertThat(store.flush(Records.soon())).isTrue();
            assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
            for (int i = 0; i < flips; i++) {
                if (i % 2 == 0) {
                    disk.flip("segment-0", random.nextLong((long) SLOTS * RECORD * 8));
                    assertThat(store.scrub(Records.soon())).as("flip %d", i).isEqualTo(1);
                    assertThat(store.statistics().records()).isEqualTo(SLOTS - 1);
                    assertThat(store.flush(Records.soon())).isTrue();
                    for (int record = 0; record < SLOTS; record++) {
                        if (!store.contains(Records.key(record))) {
                            assertThat(Records.putSynced(store, record)).isEqualTo(SsdOutcome.SYNCED);
                        }
                    }
                } else {
                    String current = currentIndex(disk);
                    int pages = pages(disk, current);
                    // Header, snapshot and footer.
                    int page = new int[] {0, 1, pages - 1}[random.nextInt(3)];
                    disk.flip(current, (long) page * PAGE * 8 + random.nextInt(PAGE * 8));
                    assertThat(store.scrub(Records.soon())).as("flip %d", i).isEqualTo(1);
                }
                assertThat(store.scrub(Records.soon())).isZero();
            }
            assertThat(store.statistics().damagedPages()).isEqualTo(flips / 2);
        }
        System.out.println("bit flips for the scrubber: " + flips + " injected, " + flips + " found");
        try (SsdStore store = open(disk, SsdChecks.ALL)) {
            assertThat(store.statistics().records()).isEqualTo(SLOTS);
        }
    }

    @Test
    void open_bitFlippedInTheIndex_isCountedAndNothingWrongIsServed() {
        SplittableRandom random = Seeds.random("bit flips in the index");
        int flips = Seeds.count(300, 3_000);
        TestDisk disk = filled();
        String current = currentIndex(disk);
        int pages = pages(disk, current);
        int used = 0;
        while (used < pages && !IndexDescriptor.blank(page(disk, current, used), 0)) {
            used++;
        }
        for (int i = 0; i < flips; i++) {
            TestDisk image = disk.copy();
            int page = random.nextInt(used + 1);
            boolean inHeaders = page == 0 || page == used;
            image.flip(current, (long) (page == used ? pages - 1 : page) * PAGE * 8 + random.nextInt(PAGE * 8));
            try (SsdStore store = open(image, SsdChecks.ALL)) {
                assertThat(store.statistics().damagedPages()).as("flip %d", i).isEqualTo(1);
                int loaded = 0;
                for (int record = 0; record < SLOTS; record++) {
                    loaded += Records.load(store, record) == SsdOutcome.LOADED ? 1 : 0;
                }
                // Header and footer stand for each other; a page of entries takes its own with it, one in each here.
                assertThat(loaded).isEqualTo(inHeaders ? SLOTS : SLOTS - 1);
            }
        }
        System.out.println("bit flips in the index: " + flips + " injected, " + flips + " found");
    }

    @Test
    void scrubber_bitFlipped_isFoundWithoutBeingAsked() throws Exception {
        TestDisk disk = filled();
        SsdSettings settings = Records.settings(Path.of("."), RECORD, SLOTS)
                .segmentBytes(1L << 30)
                .scrubBytesPerSecond(64L << 20)
                .build();
        try (SsdStore store = SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL)) {
            disk.flip("segment-0", 77_777);
            Deadline patience = Records.soon();
            while (store.statistics().damaged() == 0 && !patience.expired()) {
                Thread.sleep(10);
            }
            assertThat(store.statistics().damaged()).isEqualTo(1);
            assertThat(store.statistics().records()).isEqualTo(SLOTS - 1);
            assertThat(store.statistics().scrubbed()).isPositive();
        }
    }

    @Test
    void load_bitFlippedWithoutChecksums_servesWrongBytes() {
        TestDisk disk = filled();
        disk.flip("segment-0", 12_345);
        try (SsdStore store = open(disk, new SsdChecks(false))) {
            ByteBuffer memory = Records.memory(RECORD);
            boolean wrong = false;
            for (int i = 0; i < SLOTS; i++) {
                SsdTicket ticket = new SsdTicket();
                store.load(Records.key(i), Records.address(memory), ticket, Records.soon());
                assertThat(ticket.await(Records.soon())).isEqualTo(SsdOutcome.LOADED);
                wrong |= !Records.matches(memory, i);
            }
            assertThat(wrong).as("the checksum is what holds the line").isTrue();
        }
    }

    private static ByteBuffer page(TestDisk disk, String name, int page) {
        return ByteBuffer.wrap(disk.bytes(name, (long) page * PAGE, PAGE)).order(java.nio.ByteOrder.LITTLE_ENDIAN);
    }

    private static int pages(TestDisk disk, String name) {
        try (SsdDevice.SsdFile file = disk.open(name)) {
            return (int) (file.bytes() / PAGE);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static String currentIndex(TestDisk disk) {
        String newest = "";
        long epoch = -1;
        for (String name : disk.names()) {
            if (name.startsWith("index-")) {
                // The file that was given up may have a flipped epoch still, higher than that of the one that holds.
                IndexDescriptor.Header found = IndexDescriptor.readHeader(page(disk, name, 0), 0, 0);
                if (found != null && found.epoch() > epoch) {
                    epoch = found.epoch();
                    newest = name;
                }
            }
        }
        return newest;
    }
}
