// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.examples.cli.Refusal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SsdFoldersTest {
    private static final List<String> NODES = List.of("node-1", "node-2");

    @TempDir
    Path parent;

    private List<Path> left() throws Exception {
        try (var files = Files.list(parent)) {
            return files.toList();
        }
    }

    @Test
    void close_filesOfNodes_areGone() throws Exception {
        Path other = Files.writeString(parent.resolve("other"), "mine");
        try (SsdFolders folders = SsdFolders.open(parent, NODES, "1MiB")) {
            assertThat(folders.of("node-2")).isEmptyDirectory();
            Files.writeString(
                    Files.createDirectory(folders.of("node-1").resolve("pool")).resolve("segment"), "x");
            folders.close();
        }
        assertThat(left()).containsExactly(other);
    }

    @Test
    void open_folderOfARunThatWasCutShort_isTakenAway_thatOfARunningOneStays() throws Exception {
        Path cut = Files.createDirectories(parent.resolve("mooncake-ssd-123/node-1"));
        Files.writeString(cut.resolve("segment"), "x");
        Files.writeString(cut.resolveSibling("lock"), "");
        try (SsdFolders running = SsdFolders.open(parent, NODES, "1MiB");
                SsdFolders second = SsdFolders.open(parent, NODES, "1MiB")) {
            assertThat(left()).containsExactlyInAnyOrder(running.folder(), second.folder());
        }
        assertThat(left()).isEmpty();
    }

    @Test
    void open_runOfAnotherProcess_stays() throws Exception {
        Path run = Files.createDirectory(parent.resolve("mooncake-ssd-456"));
        Path lock = Files.writeString(run.resolve("lock"), "");
        Process holder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holder.class.getName(),
                        lock.toString())
                .start();
        try {
            assertThat(holder.getInputStream().read()).isEqualTo('L');
            SsdFolders.open(parent, NODES, "1MiB").close();
            assertThat(run).exists();
        } finally {
            holder.destroyForcibly().waitFor();
        }
        SsdFolders.open(parent, NODES, "1MiB").close();
        assertThat(run).doesNotExist();
    }

    /** Holds a lock until it is killed. */
    static final class Holder {
        public static void main(String[] args) throws Exception {
            try (var channel =
                    java.nio.channels.FileChannel.open(Path.of(args[0]), java.nio.file.StandardOpenOption.WRITE)) {
                System.out.print(channel.tryLock() == null ? 'N' : 'L');
                System.out.flush();
                Thread.sleep(60_000);
            }
        }
    }

    @Test
    void open_missingFolderOrFile_isRefusedByName() throws Exception {
        Path missing = parent.resolve("missing");
        assertThatThrownBy(() -> SsdFolders.open(missing, NODES, "1MiB"))
                .isInstanceOf(Refusal.class)
                .hasMessage("SSD folder: " + missing
                        + " does not exist (expected: an existing folder that this process may write to)");
        Path file = Files.writeString(parent.resolve("file"), "");
        assertThatThrownBy(() -> SsdFolders.open(file, NODES, "1MiB"))
                .isInstanceOf(Refusal.class)
                .hasMessage("SSD folder: " + file + " (expected: an existing folder that this process may write to)");
    }

    @Test
    void open_tooFullADisk_isRefusedWithRoomAndNeed() throws Exception {
        assertThatThrownBy(() -> SsdFolders.open(parent, NODES, "4000TiB"))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("SSD folder: " + parent + " has room for ")
                .hasMessageContaining("2 x 4000TiB")
                .hasMessageContaining("--ssd FOLDER");
        assertThat(left()).isEmpty();
    }

    @Test
    void warning_slowFolder_saysHowSlow() {
        double slow = SsdFolders.rate(16 << 20, 2_000_000_000L);
        assertThat(slow).isEqualTo(8);
        assertThat(SsdFolders.warning(parent, slow)).contains(parent.toString(), "8 MiB/s", "50 or more", "--ssd");
        assertThat(SsdFolders.warning(parent, SsdFolders.rate(16 << 20, 100_000_000L)))
                .isEmpty();
    }
}
