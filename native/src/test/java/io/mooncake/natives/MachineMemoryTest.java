// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MachineMemoryTest {
    private static final long GIB = 1L << 30;

    @TempDir
    Path root;

    @BeforeEach
    void machineOf16GiB() throws IOException {
        write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
    }

    @Test
    void read_version2_takesTheTightestOnTheWayUp() throws IOException {
        write("proc/self/cgroup", "0::/pods/one\n");
        write("cgroup/pods/one/memory.max", "max\n");
        write("cgroup/pods/memory.max", String.valueOf(4 * GIB));
        assertThat(read()).isEqualTo(memory(16 * GIB, OptionalLong.of(4 * GIB)));
        assertThat(read().usableBytes()).hasValue(4 * GIB);
    }

    @Test
    void read_containersOwnTree_usesItsRoot() throws IOException {
        write("proc/self/cgroup", "0::/kubepods/not-visible-here\n");
        write("cgroup/memory.max", String.valueOf(2 * GIB));
        assertThat(read().cgroupLimitBytes()).hasValue(2 * GIB);
    }

    @Test
    void read_version1_readsTheMemoryController() throws IOException {
        write("proc/self/cgroup", "9:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n");
        write("cgroup/memory/a/b/memory.limit_in_bytes", String.valueOf(3 * GIB));
        write("cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
        assertThat(read().cgroupLimitBytes()).hasValue(3 * GIB);
    }

    @Test
    void read_limitAboveTheMachine_isNoLimit() throws IOException {
        write("proc/self/cgroup", "0::/\n");
        write("cgroup/memory.max", String.valueOf(64 * GIB));
        assertThat(read()).isEqualTo(memory(16 * GIB, OptionalLong.empty()));
        assertThat(read().usableBytes()).hasValue(16 * GIB);
    }

    @Test
    void read_pathWithDots_staysBelowTheTree() throws IOException {
        write("memory.max", "1");
        write("proc/self/cgroup", "0::/../..\n");
        assertThat(read().cgroupLimitBytes()).isEmpty();
    }

    @Test
    void read_noKernelFiles_isEmpty() {
        MachineMemory memory = MachineMemory.read(root.resolve("none"), root.resolve("none"));
        assertThat(memory.usableBytes()).isEmpty();
    }

    private MachineMemory read() {
        return MachineMemory.read(root.resolve("proc"), root.resolve("cgroup"));
    }

    private static MachineMemory memory(long physical, OptionalLong limit) {
        return new MachineMemory(OptionalLong.of(physical), limit);
    }

    private void write(String name, String text) throws IOException {
        Path file = root.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
