// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Pages of the index that the device can't read, or that rot while the store is open: few of them cost what was in them, no more. */
final class SsdIndexDamageTest {
    private static final int RECORD = 8 << 10;
    private static final int SLOTS = 32;
    private static final int RECORDS = 20;
    private static final int PAGE = IndexDescriptor.PAGE_BYTES;

    /** Pages can't be read until they are written. */
    private static final class UnreadableDisk extends ForwardingDevice {
        private final Set<String> pages = ConcurrentHashMap.newKeySet();
        private volatile Supplier<IOException> failure = () -> new IOException("injected: medium error");

        UnreadableDisk(SsdDevice device) {
            super(device);
        }

        void breakPage(String name, long page) {
            pages.add(name + "/" + page);
        }

        @Override
        public SsdFile open(String name) throws IOException {
            return new File(name, device.open(name));
        }

        @Override
        public SsdFile create(String name, long bytes) throws IOException {
            return new File(name, device.create(name, bytes));
        }

        private final class File extends ForwardingFile {
            File(String name, SsdFile file) {
                super(name, file);
            }

            @Override
            public int read(ByteBuffer to, long offset) throws IOException {
                for (long page = offset / PAGE; page < (offset + to.remaining()) / PAGE; page++) {
                    if (pages.contains(name + "/" + page)) {
                        throw failure.get();
                    }
                }
                return file.read(to, offset);
            }

            @Override
            public int write(ByteBuffer from, long offset) throws IOException {
                for (long page = offset / PAGE; page < (offset + from.remaining()) / PAGE; page++) {
                    pages.remove(name + "/" + page);
                }
                return file.write(from, offset);
            }
        }
    }

    private static SsdStore open(SsdDevice disk) {
        return SsdStore.open(
                Records.settings(Path.of("."), RECORD, SLOTS).build(), disk, System::nanoTime, SsdChecks.ALL);
    }

    /** index-1 holds: its snapshot is in page 1, and page 2 has the last record. index-0 held before. */
    private static TestDisk filled() {
        TestDisk disk = new TestDisk(false);
        try (SsdStore store = open(disk)) {
            for (int i = 0; i < RECORDS - 2; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
        }
        try (SsdStore store = open(disk)) {
            for (int i = RECORDS - 2; i < RECORDS; i++) {
                assertThat(Records.putSynced(store, i)).isEqualTo(SsdOutcome.SYNCED);
            }
        }
        return disk;
    }

    private static long lastPage(TestDisk disk) throws IOException {
        try (SsdDevice.SsdFile file = disk.open("index-1")) {
            return file.bytes() / PAGE - 1;
        }
    }

    private static void assertOpens(TestDisk disk, String name, long page, int records) throws IOException {
        UnreadableDisk unreadable = new UnreadableDisk(disk);
        unreadable.breakPage(name, page);
        for (int life = 0; life < 2; life++) {
            try (SsdStore store = open(unreadable)) {
                assertThat(store.statistics().recovered())
                        .as("%s page %d, life %d", name, page, life)
                        .isEqualTo(records);
                assertThat(Records.putSynced(store, 0)).isIn(SsdOutcome.PRESENT, SsdOutcome.SYNCED);
                assertThat(Records.load(store, 0)).isEqualTo(SsdOutcome.LOADED);
                store.remove(Records.key(0));
                assertThat(Records.putSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
                records = store.statistics().records();
            }
        }
    }

    @Test
    void open_onePageOfAnIndexFileUnreadable_costsWhatWasInIt() throws IOException {
        TestDisk disk = filled();
        long last = lastPage(disk);
        for (long page : new long[] {0, 1, last / 2, last}) {
            assertOpens(disk.copy(), "index-0", page, RECORDS);
        }
        for (long page : new long[] {0, last / 2, last}) {
            assertOpens(disk.copy(), "index-1", page, RECORDS);
        }
        assertOpens(disk.copy(), "index-1", 1, 1);
        assertOpens(disk.copy(), "index-1", 2, RECORDS - 1);
    }

    /** A device that does not read now may do so tomorrow. */
    @Test
    void open_noHeaderReadable_isRefusedAndLosesNothing() throws IOException {
        TestDisk disk = filled();
        UnreadableDisk unreadable = new UnreadableDisk(disk);
        for (String name : new String[] {"index-0", "index-1"}) {
            unreadable.breakPage(name, 0);
            unreadable.breakPage(name, lastPage(disk));
        }
        assertThatThrownBy(() -> open(unreadable))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("no header can be read");
        try (SsdStore store = open(disk)) {
            assertThat(store.statistics().recovered()).isEqualTo(RECORDS);
        }
    }

    /** What the JDK throws when the thread that opens is interrupted is no damage of the device's. */
    @Test
    void open_channelClosedWhileItIsRead_isRefusedAndLosesNothing() {
        TestDisk disk = filled();
        UnreadableDisk closing = new UnreadableDisk(disk);
        closing.failure = ClosedByInterruptException::new;
        closing.breakPage("index-1", 1);
        assertThatThrownBy(() -> open(closing)).isInstanceOf(MooncakeException.class);
        try (SsdStore store = open(disk)) {
            assertThat(store.statistics().recovered()).isEqualTo(RECORDS);
        }
    }

    @Test
    void scrub_indexRotsAfterARestartBeforeTheFirstCommit_isFoundAndRepaired() throws IOException {
        TestDisk disk = filled();
        try (SsdStore store = open(disk)) {
            disk.flip("index-1", 8L * PAGE + 999);
            disk.flip("index-1", 999);
            disk.flip("index-1", 8L * PAGE * lastPage(disk) + 999);
            assertThat(store.scrub(Records.soon())).isEqualTo(3);
            assertThat(store.scrub(Records.soon())).isZero();
        }
        try (SsdStore store = open(disk)) {
            assertThat(store.statistics().recovered()).isEqualTo(RECORDS);
        }
    }

    @Test
    void scrub_pageOfTheIndexBecomesUnreadable_isFoundAndRepaired() {
        UnreadableDisk disk = new UnreadableDisk(filled());
        try (SsdStore store = open(disk)) {
            disk.breakPage("index-1", 1);
            assertThat(store.scrub(Records.soon())).isEqualTo(1);
            assertThat(store.scrub(Records.soon())).isZero();
            assertThat(store.statistics().writeErrors()).isZero();
        }
        try (SsdStore store = open(disk)) {
            assertThat(store.statistics().recovered()).isEqualTo(RECORDS);
        }
    }

    @Test
    void scrub_beforeTheFirstCommit_findsNothingAndFailsNothing() {
        try (SsdStore store = open(new TestDisk(false))) {
            assertThat(store.scrub(Records.soon())).isZero();
            assertThat(store.statistics().writeErrors()).isZero();
        }
    }

    /** The footer stood in for the header; it may be the next. */
    @Test
    void open_headerDamaged_writesTheIndexAnewAtOnce() throws Exception {
        TestDisk disk = filled();
        disk.flip("index-1", 999);
        try (SsdStore store = open(disk)) {
            Deadline patience = Records.soon();
            while (store.statistics().checkpoints() == 0 && !patience.expired()) {
                Thread.sleep(5);
            }
            assertThat(store.statistics().checkpoints()).isEqualTo(1);
            assertThat(store.statistics().damagedPages()).isEqualTo(1);
        }
        disk.flip("index-1", 8L * PAGE * lastPage(disk) + 999);
        try (SsdStore store = open(disk)) {
            assertThat(store.statistics().recovered()).isEqualTo(RECORDS);
        }
    }
}
