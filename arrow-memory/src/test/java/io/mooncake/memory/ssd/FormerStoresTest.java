// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What former models left makes room for the records of now, and for nothing less. */
final class FormerStoresTest {
    private static final int RECORD = 4096;
    /** Three segments a store, of eight records each. */
    private static final int SLOTS = 24;

    private static final long SEGMENT = 8L * RECORD;

    @TempDir
    Path folder;

    private SsdSettings settings(String owner, char identity) {
        return SsdSettings.builder(folder, owner, String.valueOf(identity).repeat(64), RECORD, (long) RECORD * SLOTS)
                .segmentBytes(SEGMENT)
                .commitMillis(0)
                .scrubBytesPerSecond(0)
                .build();
    }

    private Path folder(char identity) {
        return FileDevice.folder(settings("node-a", identity));
    }

    private static void put(SsdStore store, int from, int to) {
        ByteBuffer memory = Records.memory(RECORD);
        for (int number = from; number < to; number++) {
            Records.fill(memory, number);
            SsdTicket ticket = new SsdTicket();
            store.put(Records.key(number), Records.address(memory), ticket);
            assertThat(ticket.await(Deadline.ofMillis(30_000))).isEqualTo(SsdOutcome.STORED);
        }
        assertThat(store.flush(Deadline.ofMillis(30_000))).isTrue();
    }

    /** A full store of an earlier life, last written to {@code minutes} ago. */
    private void former(String owner, char identity, int minutes) throws IOException {
        try (SsdStore store = SsdStore.open(settings(owner, identity))) {
            put(store, 0, SLOTS);
        }
        try (Stream<Path> files = Files.list(folder(identity))) {
            for (Path file : files.toList()) {
                Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis() - minutes * 60_000L));
            }
        }
    }

    private int segments(char identity) throws IOException {
        if (!Files.isDirectory(folder(identity))) {
            return -1;
        }
        try (Stream<Path> files = Files.list(folder(identity))) {
            return (int) files.filter(file -> file.getFileName().toString().startsWith("segment"))
                    .count();
        }
    }

    private int loaded(SsdStore store) {
        ByteBuffer memory = Records.memory(RECORD);
        int loaded = 0;
        for (int number = 0; number < SLOTS; number++) {
            SsdTicket ticket = new SsdTicket();
            store.load(Records.key(number), Records.address(memory), ticket);
            if (ticket.await(Deadline.ofMillis(30_000)) == SsdOutcome.LOADED) {
                assertThat(Records.matches(memory, number)).isTrue();
                loaded++;
            }
        }
        return loaded;
    }

    @Test
    void put_roomForBoth_leavesTheFormerStoreAlone() throws Exception {
        former("node-a", 'a', 5);
        FormerStores formers = FormerStores.besides(List.of(settings("node-a", 'b')), 6 * SEGMENT);
        try (SsdStore store = SsdStore.open(settings("node-a", 'b'), formers)) {
            put(store, 0, SLOTS);
            assertThat(segments('b')).isEqualTo(3);
        }
        assertThat(formers.bytes()).isEqualTo(3 * SEGMENT);
        try (SsdStore back = SsdStore.open(settings("node-a", 'a'))) {
            assertThat(loaded(back)).isEqualTo(SLOTS);
        }
    }

    @Test
    void put_roomNeeded_takesTheOldestFirstFileByFile() throws Exception {
        former("node-a", 'a', 5);
        former("node-a", 'c', 50);
        FormerStores formers = FormerStores.besides(List.of(settings("node-a", 'b')), 6 * SEGMENT);
        try (SsdStore store = SsdStore.open(settings("node-a", 'b'), formers)) {
            assertThat(segments('c')).as("opened, and nothing stored").isEqualTo(3);
            put(store, 0, 1);
            assertThat(segments('c')).isEqualTo(2);
            put(store, 1, 17);
            assertThat(segments('c')).as("without files it goes").isEqualTo(-1);
            assertThat(segments('a')).isEqualTo(3);
        }
        FormerStores smaller = FormerStores.besides(List.of(settings("node-a", 'b')), 4 * SEGMENT);
        smaller.makeRoom(0, false);
        assertThat(segments('a')).isEqualTo(1);
        try (SsdStore back = SsdStore.open(settings("node-a", 'a'))) {
            assertThat(loaded(back)).as("of what is left").isEqualTo(8);
        }
    }

    @Test
    void put_diskFull_takesWhatTheCapacityWouldLeave() throws Exception {
        former("node-a", 'a', 5);
        FormerStores formers = FormerStores.besides(List.of(settings("node-a", 'b')), 100 * SEGMENT);
        formers.makeRoom(SEGMENT, false);
        assertThat(segments('a')).isEqualTo(3);
        formers.makeRoom(SEGMENT, true);
        assertThat(segments('a')).isEqualTo(2);
    }

    @Test
    void makeRoom_foldersOfOthersOrOpenOrUnknown_areNotTouched() throws Exception {
        former("node-z", 'a', 50);
        former("node-a", 'c', 40);
        Path stranger = Files.createDirectories(folder.resolve("kv-stranger"));
        Files.write(stranger.resolve("segment-0"), new byte[(int) SEGMENT]);
        Path other = Files.createDirectories(folder.resolve("photos"));
        Files.writeString(other.resolve("owner"), "node node-a, process 1\n");
        Files.write(other.resolve("segment-0"), new byte[(int) SEGMENT]);
        FormerStores formers = FormerStores.besides(List.of(settings("node-a", 'b')), SEGMENT);
        try (SsdStore open = SsdStore.open(settings("node-a", 'c'))) {
            formers.makeRoom(SEGMENT, false);
            formers.makeRoom(SEGMENT, true);
            assertThat(loaded(open)).isEqualTo(SLOTS);
        }
        assertThat(segments('c')).isEqualTo(3);
        assertThat(segments('a')).isEqualTo(3);
        assertThat(stranger.resolve("segment-0")).exists();
        assertThat(other.resolve("segment-0")).exists();
        formers.makeRoom(SEGMENT, false);
        assertThat(segments('c')).as("closed").isEqualTo(-1);
    }

    @Test
    void makeRoom_folderThatWasRefused_isStillTheOtherNodes() throws Exception {
        former("node-z", 'a', 50);
        assertThatThrownBy(() -> SsdStore.open(settings("node-a", 'a')))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("node-z");
        FormerStores formers = FormerStores.besides(List.of(settings("node-a", 'b')), SEGMENT);
        formers.makeRoom(SEGMENT, true);
        assertThat(segments('a')).isEqualTo(3);
    }
}
