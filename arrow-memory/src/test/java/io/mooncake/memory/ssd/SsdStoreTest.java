// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.Seeds;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store over real files. */
final class SsdStoreTest {
    private static final int RECORD = 16 << 10;

    @TempDir
    Path folder;

    private SsdStore open(int slots) {
        return SsdStore.open(Records.settings(folder, RECORD, slots).build());
    }

    @Test
    void load_storedRecord_givesItsBytes() {
        try (SsdStore store = open(32)) {
            assertThat(Records.put(store, 1, SsdTicket.Until.STORED)).isEqualTo(SsdOutcome.STORED);
            assertThat(store.contains(Records.key(1))).isTrue();
            assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.LOADED);
            assertThat(Records.load(store, 2)).isEqualTo(SsdOutcome.MISS);
            assertThat(Records.put(store, 1, SsdTicket.Until.STORED)).isEqualTo(SsdOutcome.PRESENT);
            assertThat(store.statistics().loaded()).isEqualTo(1);
            assertThat(store.statistics().misses()).isEqualTo(1);
            assertThat(store.status().state()).isEqualTo(SsdStatus.State.OPEN);
        }
    }

    @Test
    void open_again_findsWhatWasSyncedAndNotWhatWasRemoved() {
        try (SsdStore store = open(64)) {
            for (int i = 0; i < 50; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
            for (int i = 0; i < 50; i += 5) {
                assertThat(store.remove(Records.key(i))).isTrue();
            }
            assertThat(store.remove(Records.key(999))).isFalse();
        }
        try (SsdStore store = open(64)) {
            assertThat(store.statistics().recovered()).isEqualTo(40);
            Set<Long> found = new HashSet<>();
            store.forEach((key, generation) -> found.add(Records.number(key)));
            for (int i = 0; i < 50; i++) {
                boolean there = i % 5 != 0;
                assertThat(Records.load(store, i)).isEqualTo(there ? SsdOutcome.LOADED : SsdOutcome.MISS);
                assertThat(found.contains((long) i)).isEqualTo(there);
            }
        }
    }

    @Test
    void put_allSlotsTaken_isFullUntilARemovalIsDurable() {
        try (SsdStore store = open(10)) {
            for (int i = 0; i < 10; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
            assertThat(Records.putSynced(store, 10)).isEqualTo(SsdOutcome.FULL);
            store.remove(Records.key(3));
            assertThat(store.flush(Records.soon())).isTrue();
            assertThat(Records.putSynced(store, 10)).isEqualTo(SsdOutcome.SYNCED);
            assertThat(Records.load(store, 10)).isEqualTo(SsdOutcome.LOADED);
            assertThat(Records.load(store, 3)).isEqualTo(SsdOutcome.MISS);
            assertThat(store.statistics().full()).isEqualTo(1);
        }
    }

    @Test
    void open_manyCommits_survivesTheIndexFilesTakingTurns() {
        SplittableRandom random = Seeds.random("index files");
        Set<Long> expected = new HashSet<>();
        for (int round = 0; round < 4; round++) {
            try (SsdStore store = open(24)) {
                for (int i = 0; i < 150; i++) {
                    long number = random.nextInt(40);
                    if (expected.contains(number)) {
                        assertThat(store.remove(Records.key(number))).isTrue();
                        expected.remove(number);
                        assertThat(store.flush(Records.soon())).isTrue();
                    } else if (Records.putSynced(store, number) == SsdOutcome.SYNCED) {
                        expected.add(number);
                    }
                }
                assertThat(store.statistics().records()).isEqualTo(expected.size());
            }
        }
        try (SsdStore store = open(24)) {
            for (long number = 0; number < 40; number++) {
                assertThat(Records.load(store, number))
                        .isEqualTo(expected.contains(number) ? SsdOutcome.LOADED : SsdOutcome.MISS);
            }
        }
    }

    @Test
    void put_fromManyThreads_allIsFoundAgain() throws Exception {
        int threads = 4;
        int each = 40;
        try (SsdStore store = open(threads * each)) {
            AtomicReference<Throwable> failure = new AtomicReference<>();
            List<Thread> running = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                int first = t * each;
                Thread thread = new Thread(() -> {
                    for (int i = first; i < first + each; i++) {
                        Records.put(store, i, i % 2 == 0 ? SsdTicket.Until.STORED : SsdTicket.Until.SYNCED);
                        assertThat(Records.load(store, i)).isEqualTo(SsdOutcome.LOADED);
                        if (i % 4 == 0) {
                            store.remove(Records.key(i));
                        }
                    }
                });
                thread.setUncaughtExceptionHandler((one, e) -> failure.set(e));
                thread.start();
                running.add(thread);
            }
            for (Thread thread : running) {
                thread.join();
            }
            assertThat(failure.get()).isNull();
        }
        try (SsdStore store = open(threads * each)) {
            for (int i = 0; i < threads * each; i++) {
                assertThat(Records.load(store, i)).isEqualTo(i % 4 == 0 ? SsdOutcome.MISS : SsdOutcome.LOADED);
            }
        }
    }

    @Test
    void open_largerAndSmallerCapacity_keepsWhatFits() {
        try (SsdStore store = open(12)) {
            for (int i = 0; i < 12; i++) {
                Records.putSynced(store, i);
            }
        }
        try (SsdStore store = open(40)) {
            assertThat(store.statistics().records()).isEqualTo(12);
            for (int i = 12; i < 32; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
        }
        try (SsdStore store = open(8)) {
            assertThat(store.statistics().records()).isEqualTo(8);
            store.forEach((key, generation) ->
                    assertThat(Records.load(store, Records.number(key))).isEqualTo(SsdOutcome.LOADED));
        }
    }

    @Test
    void open_pathMissingOrAFile_isRefusedByName() throws Exception {
        Path missing = folder.resolve("missing");
        Path file = Files.createFile(folder.resolve("file"));
        for (Path path : List.of(missing, file, Path.of("/proc"))) {
            assertThatThrownBy(() ->
                            SsdStore.open(Records.settings(path, RECORD, 8).build()))
                    .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.CONFIGURATION))
                    .hasMessageContaining(path.toString());
        }
    }

    @Test
    void open_twice_isRefusedNamingTheOwner() {
        try (SsdStore store = open(8)) {
            Records.putSynced(store, 1);
            assertThatThrownBy(() -> open(8))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining(
                            "node node-a, process " + ProcessHandle.current().pid());
        }
    }

    @Test
    void open_anotherNodesRecords_isRefusedAndLeavesThem() {
        try (SsdStore store = open(8)) {
            Records.putSynced(store, 1);
        }
        SsdSettings other = SsdSettings.builder(folder, "node-b", Records.IDENTITY, RECORD, 8L * RECORD)
                .build();
        assertThatThrownBy(() -> SsdStore.open(other))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("owner node-a (expected: node-b");
        SsdSettings longer = SsdSettings.builder(folder, "node-a", Records.IDENTITY, 2 * RECORD, 8L * RECORD)
                .build();
        assertThatThrownBy(() -> SsdStore.open(longer))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("record bytes " + RECORD + " (expected: " + 2 * RECORD);
        try (SsdStore store = open(8)) {
            assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.LOADED);
        }
    }

    @Test
    void open_anotherModel_hasAFolderOfItsOwn() {
        SsdSettings other = SsdSettings.builder(folder, "node-a", "f".repeat(64), RECORD, 8L * RECORD)
                .build();
        try (SsdStore store = open(8);
                SsdStore foreign = SsdStore.open(other)) {
            Records.putSynced(store, 1);
            assertThat(Records.load(foreign, 1)).isEqualTo(SsdOutcome.MISS);
        }
    }

    @Test
    void settings_allWrong_areNamedAtOnce() {
        assertThatThrownBy(() -> SsdSettings.builder(folder, "", "x", 5000, 0)
                        .ioThreads(0)
                        .queueRecords(0)
                        .maxUsePercent(100)
                        .build())
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("ssd owner bytes: 0 (expected: 1..255)")
                .hasMessageContaining("ssd identity: x")
                .hasMessageContaining("ssd record bytes: 5000 (expected: a multiple of 4096")
                .hasMessageContaining("ssd I/O threads: 0 (expected: 1..64)")
                .hasMessageContaining("ssd queue records: 0")
                .hasMessageContaining("ssd max use percent: 100 (expected: 1..99)");
        assertThatThrownBy(() -> SsdSettings.builder(folder, "a", Records.IDENTITY, RECORD, RECORD - 1)
                        .build())
                .hasMessageContaining("ssd capacity bytes: " + (RECORD - 1));
    }

    @Test
    void put_unalignedAddress_isRefused() {
        try (SsdStore store = open(8)) {
            ByteBuffer memory = Records.memory(RECORD);
            assertThatThrownBy(() -> store.put(Records.key(1), Records.address(memory) + 8, new SsdTicket()))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("ssd record address");
            assertThatThrownBy(() -> store.load(Records.key(1), 0, new SsdTicket()))
                    .hasMessageContaining("ssd record address: 0");
        }
    }

    @Test
    void close_withWritesQueued_endsThem() {
        SsdStore store = open(64);
        List<SsdTicket> tickets = new ArrayList<>();
        List<ByteBuffer> memories = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            ByteBuffer memory = Records.memory(RECORD);
            Records.fill(memory, i);
            memories.add(memory);
            SsdTicket ticket = new SsdTicket();
            store.put(Records.key(i), Records.address(memory), ticket);
            tickets.add(ticket);
        }
        store.close();
        store.close();
        assertThat(tickets).allMatch(ticket -> !ticket.busy() && ticket.outcome() == SsdOutcome.STORED);
        SsdTicket late = new SsdTicket();
        store.put(Records.key(99), Records.address(memories.get(0)), late);
        assertThat(late.outcome()).isEqualTo(SsdOutcome.CLOSED);
        try (SsdStore again = open(64)) {
            assertThat(again.statistics().records()).isEqualTo(40);
        }
    }

    @Test
    void ticket_inUse_isRefused() {
        TestDisk disk = new TestDisk(false);
        FaultyDisk slow = new FaultyDisk(disk);
        try (SsdStore store = SsdStore.open(
                Records.settings(folder, RECORD, 8).ioThreads(1).queueRecords(2).build(),
                slow,
                System::nanoTime,
                SsdChecks.ALL)) {
            slow.hold();
            ByteBuffer memory = Records.memory(RECORD);
            List<SsdTicket> tickets = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                SsdTicket ticket = new SsdTicket();
                // One is with the device and two wait.
                store.put(Records.key(i), Records.address(memory), ticket, Records.soon());
                tickets.add(ticket);
                if (i == 0) {
                    slow.awaitHeld();
                }
            }
            assertThatThrownBy(() -> store.put(Records.key(9), Records.address(memory), tickets.get(0)))
                    .hasMessageContaining("ticket: in use");
            SsdTicket refused = new SsdTicket();
            store.put(Records.key(4), Records.address(memory), refused);
            assertThat(refused.outcome()).isEqualTo(SsdOutcome.BUSY);
            long start = System.nanoTime();
            store.put(Records.key(5), Records.address(memory), refused, Deadline.ofMillis(50));
            assertThat(refused.outcome()).isEqualTo(SsdOutcome.BUSY);
            assertThat(System.nanoTime() - start).isGreaterThan(45_000_000L);
            assertThat(tickets.get(0).await(Deadline.ofMillis(20))).isEqualTo(SsdOutcome.PENDING);
            assertThat(store.statistics().busy()).isEqualTo(2);
            slow.letGo();
            assertThat(tickets).allMatch(ticket -> ticket.await(Records.soon()) == SsdOutcome.STORED);
        }
    }
}
