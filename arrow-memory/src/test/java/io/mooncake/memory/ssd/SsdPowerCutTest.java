// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.Seeds;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Power cuts under a real ext4: the writing process is stopped, and the disk below the file system is copied as it is. What the kernel had in
 * memory only, data or metadata, is not in the copy, which is then mounted as after a cut. Root alone can mount; others skip it.
 */
final class SsdPowerCutTest {
    private static final long IMAGE_BYTES = 48L << 20;
    /** For what the kernel has begun to write when the process is stopped. */
    private static final long SETTLE_MILLIS = 150;

    @TempDir
    Path folder;

    private static void signal(Process process, String name) throws Exception {
        assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                        .start()
                        .waitFor())
                .isZero();
    }

    /** Lets a process write, cuts the power, and gives what it was told by then. */
    private List<String> cut(Path image, Path copy, long bytes, int acknowledgements, long first, long seed)
            throws Exception {
        List<String> lines = new ArrayList<>();
        try (TestMount mount = TestMount.ofImage(image, bytes, folder.resolve("before"))) {
            Process process = SsdKillTest.start("load", mount.folder(), first, seed);
            try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
                assertThat(out.readLine()).isEqualTo("OPEN");
                while (lines.size() < acknowledgements) {
                    lines.add(out.readLine());
                }
                signal(process, "STOP");
                Thread.sleep(SETTLE_MILLIS);
                Files.copy(image, copy, StandardCopyOption.REPLACE_EXISTING);
                lines.addAll(SsdKillTest.killAndRead(process, out));
            } finally {
                process.toHandle().destroyForcibly();
            }
        }
        return lines;
    }

    @Test
    void powerCut_underLoadOnExt4_losesNothingThatWasSynced() throws Exception {
        SplittableRandom random = Seeds.random("power cuts on ext4");
        int cuts = Seeds.count(3, 20);
        Path image = folder.resolve("disk");
        Path copy = folder.resolve("copy");
        Promises promises = new Promises();
        for (int cut = 0; cut < cuts; cut++) {
            List<String> lines = cut(
                    image,
                    copy,
                    cut == 0 ? IMAGE_BYTES : 0,
                    1 + random.nextInt(120),
                    cut * 100_000L,
                    random.nextLong());
            promises.hear(lines);
            Files.move(copy, image, StandardCopyOption.REPLACE_EXISTING);
            Set<Long> found = new HashSet<>();
            try (TestMount mount = TestMount.ofImage(image, 0, folder.resolve("after"));
                    SsdStore store = SsdStore.open(SsdWriterMain.settings(mount.folder()))) {
                store.forEach((key, generation) -> found.add(Records.number(key)));
                for (long number : found) {
                    assertThat(Records.load(store, number))
                            .as("cut %d, record %d", cut, number)
                            .isEqualTo(SsdOutcome.LOADED);
                }
                assertThat(store.directIo()).isTrue();
            }
            assertThat(found).as("cut %d", cut).containsAll(promises.records());
            promises.found(found);
        }
        System.out.println("power cuts on ext4: " + cuts + ", records acknowledged as synced: "
                + promises.acknowledged() + ", lost: 0");
        assertThat(promises.acknowledged()).isGreaterThan(cuts);
    }
}
