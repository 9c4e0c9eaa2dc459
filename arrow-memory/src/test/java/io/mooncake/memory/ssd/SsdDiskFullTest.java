// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real file systems that are small, full, read-only, or without direct I/O. */
final class SsdDiskFullTest {
    private static final int RECORD = 256 << 10;
    private static final int SIZE = 64 << 20;

    @TempDir
    Path folder;

    /** More capacity than the file system has; long runs leave the time between attempts as it is by default. */
    private static SsdSettings settings(Path path) {
        SsdSettings.Builder settings = SsdSettings.builder(path, "node-a", Records.IDENTITY, RECORD, 4L * SIZE)
                .segmentBytes(2 << 20)
                .commitMillis(0);
        return Boolean.getBoolean("mooncake.long")
                ? settings.build()
                : settings.retryMillis(300).build();
    }

    private static double use(Path path) throws IOException {
        FileStore store = Files.getFileStore(path);
        double used = store.getTotalSpace() - store.getUnallocatedSpace();
        return used / (used + store.getUsableSpace());
    }

    /** Puts until a record is synced; null when that took longer than the rule says. */
    private static SsdOutcome untilSynced(SsdStore store, long number) throws InterruptedException {
        Deadline rule = Deadline.ofMillis(30_000);
        SsdOutcome outcome = SsdOutcome.PENDING;
        while (outcome != SsdOutcome.SYNCED && !rule.expired()) {
            outcome = Records.putSynced(store, number);
            assertThat(outcome).isIn(SsdOutcome.SYNCED, SsdOutcome.FULL, SsdOutcome.PAUSED, SsdOutcome.FAILED);
            Thread.sleep(20);
        }
        return outcome;
    }

    @Test
    void put_fileSystemFillsUp_staysBelowItsLimitAndGoesOnWhenThereIsRoom() throws Exception {
        try (TestMount mount = TestMount.of(folder, "tmpfs", "size=" + SIZE)) {
            Path ballast = mount.folder().resolve("ballast");
            TestMount.fill(ballast);
            assertThat(use(mount.folder())).isGreaterThan(0.99);
            try (SsdStore store = SsdStore.open(settings(mount.folder()))) {
                for (int i = 0; i < 20; i++) {
                    assertThat(Records.putSynced(store, i)).isIn(SsdOutcome.FULL, SsdOutcome.PAUSED, SsdOutcome.FAILED);
                }
                assertThat(store.status().state()).isIn(SsdStatus.State.NO_ROOM, SsdStatus.State.PAUSED);
                Files.delete(ballast);
                assertThat(untilSynced(store, 0)).isEqualTo(SsdOutcome.SYNCED);
                // All the room there is.
                int records = 1;
                while (Records.putSynced(store, records) == SsdOutcome.SYNCED) {
                    records++;
                }
                assertThat(use(mount.folder())).isBetween(0.85, 0.95);
                assertThat(store.status().state()).isEqualTo(SsdStatus.State.NO_ROOM);
                for (int i = 0; i < records; i++) {
                    assertThat(Records.load(store, i)).isEqualTo(SsdOutcome.LOADED);
                }
                // Somebody else takes the rest: what is there is read, and written again.
                TestMount.fill(ballast);
                assertThat(store.remove(Records.key(0))).isTrue();
                assertThat(store.flush(Records.soon())).isTrue();
                assertThat(untilSynced(store, 10_000)).isEqualTo(SsdOutcome.SYNCED);
                assertThat(Records.load(store, 10_000)).isEqualTo(SsdOutcome.LOADED);
                Files.delete(ballast);
                System.out.println("file system of " + SIZE + " bytes: " + records + " records of " + RECORD
                        + (store.directIo() ? ", direct I/O" : ", through the page cache"));
            }
            // Full again before it is opened: everything is found.
            TestMount.fill(ballast);
            try (SsdStore store = SsdStore.open(settings(mount.folder()))) {
                assertThat(store.statistics().records()).isPositive();
                assertThat(Records.load(store, 10_000)).isEqualTo(SsdOutcome.LOADED);
            }
        }
    }

    @Test
    void open_readOnlyFileSystem_isRefusedByName() throws Exception {
        try (TestMount mount = TestMount.of(folder, "tmpfs", "size=" + SIZE)) {
            try (SsdStore store = SsdStore.open(settings(mount.folder()))) {
                assertThat(Records.putSynced(store, 1)).isEqualTo(SsdOutcome.SYNCED);
            }
            mount.remount("ro");
            assertThatThrownBy(() -> SsdStore.open(settings(mount.folder())))
                    .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.CONFIGURATION))
                    .hasMessageContaining("ssd path: " + mount.folder());
            mount.remount("rw");
            try (SsdStore store = SsdStore.open(settings(mount.folder()))) {
                assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.LOADED);
            }
        }
    }

    @Test
    void open_noDirectIo_fallsBackToThePageCacheAndSaysSo() throws Exception {
        try (TestMount mount = TestMount.of(folder, "ramfs", "mode=0755")) {
            // ramfs has no limit that could be asked for, so room is what the machine says.
            try (SsdStore store = SsdStore.open(settings(mount.folder()))) {
                assertThat(store.directIo()).isFalse();
                SsdOutcome outcome = Records.putSynced(store, 1);
                assertThat(outcome).isIn(SsdOutcome.SYNCED, SsdOutcome.FULL);
                if (outcome == SsdOutcome.SYNCED) {
                    assertThat(Records.load(store, 1)).isEqualTo(SsdOutcome.LOADED);
                }
            }
        }
    }
}
