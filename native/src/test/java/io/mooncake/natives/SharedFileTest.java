// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SharedFileTest {
    @TempDir
    Path folder;

    @BeforeEach
    void needsBridge() {
        assumeTrue(NativeBridge.available(), "native bridge");
    }

    @Test
    void create_thenOpen_mapsTheSameBytes() throws IOException {
        SharedFile own = SharedFile.create(folder, 10_000);
        assertThat(Files.getPosixFilePermissions(own.path())).isEqualTo(PosixFilePermissions.fromString("rw-------"));
        try (SharedFile seen = SharedFile.open(own.path(), own.device(), own.inode())) {
            assertThat(seen.bytes()).isEqualTo(10_000);
            assertThat(seen.address()).isNotEqualTo(own.address());
            assertThat(seen.ownerAlive()).isTrue();
            own.populate();
            seen.populate();
            own.close();
            own.close();
            assertThat(own.path()).doesNotExist();
            assertThat(seen.ownerAlive()).isFalse();
        }
    }

    @Test
    void open_otherFileUnderTheName_isRefused() throws IOException {
        try (SharedFile own = SharedFile.create(folder, 4096)) {
            assertThatThrownBy(() -> SharedFile.open(own.path(), own.device(), own.inode() + 1))
                    .hasMessageContaining("another file");
            assertThatThrownBy(() -> SharedFile.open(folder.resolve("none"), 0, 0))
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.NOT_FOUND);
            Path link = folder.resolve("link");
            Files.createSymbolicLink(link, own.path());
            assertThatThrownBy(() -> SharedFile.open(link, own.device(), own.inode()))
                    .isInstanceOf(MooncakeException.class);
        }
    }

    @Test
    void create_noRoom_isExhaustedAndLeavesNothing() throws IOException {
        assertThatThrownBy(() -> SharedFile.create(SharedFile.DEFAULT_FOLDER, 1L << 50))
                .isInstanceOf(MooncakeException.class);
        assertThat(SharedFile.obstacle(folder, Long.MAX_VALUE)).contains("room");
        assertThat(SharedFile.obstacle(folder.resolve("none"), 1)).contains("no folder");
        assertThat(SharedFile.obstacle(folder, 4096)).isEmpty();
    }

    @Test
    void removeOrphans_liveAndForeignFiles_stay() throws IOException {
        Path foreign = Files.createFile(folder.resolve("mooncake-of-somebody-else.mem"));
        try (SharedFile own = SharedFile.create(folder, 4096)) {
            assertThat(SharedFile.removeOrphans(folder)).isZero();
            assertThat(own.path()).exists();
            assertThat(foreign).exists();
        }
    }

    @Test
    void removeOrphans_nameOfDeadProcessButLockHeld_stays() throws Exception {
        Path held = folder.resolve("mooncake-1-1-" + "0".repeat(32) + ".mem");
        Files.write(held, new byte[10]);
        Process holder = new ProcessBuilder("flock", "-x", held.toString(), "-c", "echo locked; read x")
                .redirectErrorStream(true)
                .start();
        assertThat(holder.inputReader().readLine()).isEqualTo("locked");
        assertThat(SharedFile.removeOrphans(folder)).isZero();
        holder.outputWriter().write("\n");
        holder.outputWriter().flush();
        assertThat(holder.waitFor(10, TimeUnit.SECONDS)).isTrue();
        assertThat(SharedFile.removeOrphans(folder)).isEqualTo(1);
        assertThat(held).doesNotExist();
    }

    @Test
    void removeOrphans_afterKill_leavesAtMostOne() throws Exception {
        int rounds = Boolean.getBoolean("mooncake.long") ? 50 : 5;
        for (int round = 0; round < rounds; round++) {
            Process owner = new ProcessBuilder(List.of(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xmx32m",
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                            SharedFileTest.class.getName(),
                            folder.toString()))
                    .redirectErrorStream(true)
                    .start();
            assertThat(owner.inputReader().readLine()).isEqualTo("ready");
            assertThat(files()).hasSize(1);
            owner.destroyForcibly().waitFor();
        }
        assertThat(SharedFile.removeOrphans(folder)).isEqualTo(1);
        assertThat(files()).isEmpty();
    }

    private long[] files() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.mapToLong(file -> 1).toArray();
        }
    }

    /** Cleans, creates a file and waits to be killed. */
    public static void main(String[] args) throws IOException {
        Path folder = Path.of(args[0]);
        SharedFile.removeOrphans(folder);
        SharedFile.create(folder, 1 << 20);
        System.out.println("ready");
        while (System.in.read() >= 0) {}
    }
}
