// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.natives.NativeBridge.Available;
import io.mooncake.natives.NativeBridge.Unavailable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The probe against sources that do not pass through it: shell built-ins, getconf, and the kernel's files. */
class NativeProbeTest {
    private final NativeProbe probe = NativeProbe.take();

    @Test
    void pageBytes_bridgeAvailable_equalsGetconf() throws Exception {
        assumeBridge();
        assertThat(probe.pageBytes()).hasValue(Long.parseLong(shell("getconf PAGESIZE")));
    }

    @Test
    void memlock_bridgeAvailable_equalsUlimit() throws Exception {
        assumeBridge();
        String kib = shell("ulimit -l");
        long expected = kib.equals("unlimited") ? NativeProbe.UNLIMITED : Long.parseLong(kib);
        // ulimit prints whole KiB.
        long found = probe.memlock().getAsLong();
        assertThat(found == NativeProbe.UNLIMITED ? found : found / 1024).isEqualTo(expected);
    }

    @Test
    void memory_thisMachine_equalsProcMeminfo() throws Exception {
        long kib = Long.parseLong(shell("awk '/^MemTotal:/ {print $2}' /proc/meminfo"));
        assertThat(probe.memory().physicalBytes()).hasValue(kib * 1024);
        assertThat(probe.memory().usableBytes().getAsLong()).isBetween(1L, kib * 1024);
    }

    @Test
    void hugePages_thisMachine_equalTheKernelsDefaultPool() throws Exception {
        String size = shell("awk '/^Hugepagesize:/ {print $2}' /proc/meminfo");
        assumeTrue(!size.isEmpty(), "SKIPPED: this kernel has no huge pages");
        long total = Long.parseLong(shell("awk '/^HugePages_Total:/ {print $2}' /proc/meminfo"));
        assertThat(probe.hugePages())
                .filteredOn(pool -> pool.pageBytes() == Long.parseLong(size) * 1024)
                .singleElement()
                .satisfies(pool -> assertThat(pool.total()).isEqualTo(total));
    }

    @Test
    void rdma_thisMachine_agreesWithSysfs() throws IOException {
        assumeBridge();
        Path devices = Path.of("/sys/class/infiniband");
        if (Files.isDirectory(devices)) {
            try (Stream<Path> names = Files.list(devices)) {
                assertThat(probe.rdma().devices())
                        .isSubsetOf(names.map(p -> p.getFileName().toString()).toList());
            }
        } else {
            assertThat(probe.rdma().devices()).isEmpty();
            assertThat(probe.rdma().usable()).isFalse();
            assertThat(probe.rdma().reason()).isNotBlank();
        }
    }

    @Test
    void cuda_thisMachine_agreesWithTheDeviceFiles() {
        assumeBridge();
        if (Files.exists(Path.of("/dev/nvidiactl"))) {
            assertThat(probe.cuda().usable() || !probe.cuda().reason().isBlank())
                    .isTrue();
        } else {
            assertThat(probe.cuda().devices()).isEmpty();
            assertThat(probe.cuda().reason()).isNotBlank();
        }
    }

    @Test
    void take_bridgeOfThisBuild_isAvailableUnlessTheBuildSaysWhyNot() throws IOException {
        String folder = "/META-INF/native/"
                + NativeLibrary.platform(System.getProperty("os.name"), System.getProperty("os.arch"));
        try (var reason = NativeProbe.class.getResourceAsStream(folder + "/unavailable.txt")) {
            if (reason == null) {
                assertThat(probe.bridge())
                        .isEqualTo(new Available(NativeBridge.EXPECTED_VERSION, folder.substring(17)));
            } else {
                String text = new String(reason.readAllBytes(), StandardCharsets.UTF_8).strip();
                assertThat(probe.bridge()).isEqualTo(new Unavailable(text));
                assertThat(probe.rdma().reason()).isEqualTo("native bridge: " + text);
                assertThat(probe.pageBytes()).isEqualTo(OptionalLong.empty());
            }
        }
    }

    private void assumeBridge() {
        assumeTrue(
                probe.bridge() instanceof Available, () -> "SKIPPED: the native bridge is absent: " + probe.bridge());
    }

    private static String shell(String command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(List.of("bash", "-c", command)).start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
        return out;
    }
}
