// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.doctor;

import io.mooncake.base.ByteSize;
import io.mooncake.examples.report.Machine;
import io.mooncake.natives.DeviceProbe;
import io.mooncake.natives.HugePages;
import io.mooncake.natives.MachineMemory;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.NativeProbe;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** The machine: system, processor, memory, and what the native bridge finds. */
final class MachineFindings {
    private MachineFindings() {}

    static List<Finding> system(Machine machine, MachineMemory memory) {
        List<Finding> found = new ArrayList<>();
        found.add(Finding.present("System", machine.os() + ", " + machine.kernel()));
        found.add(Finding.present("Processor", machine.cpu() + ", " + machine.cores() + " cores for this JVM"));
        found.add(memory(memory));
        found.add(sharedMemory(Path.of("/dev/shm")));
        return found;
    }

    static List<Finding> bridge(NativeProbe probe) {
        List<Finding> found = new ArrayList<>();
        if (probe.bridge() instanceof NativeBridge.Available available) {
            found.add(Finding.present(
                    "Native bridge", "version " + available.version() + " for " + available.platform()));
        } else if (probe.bridge() instanceof NativeBridge.Unavailable unavailable) {
            found.add(Finding.absent("Native bridge", unavailable.reason()));
        }
        found.add(devices("RDMA", probe.rdma()));
        found.add(devices("CUDA", probe.cuda()));
        found.add(size("Page size", probe.pageBytes()));
        found.add(hugePages(probe.hugePages()));
        found.add(memlock(probe.memlock()));
        return found;
    }

    private static Finding memory(MachineMemory memory) {
        if (memory.physicalBytes().isEmpty()) {
            return Finding.warning("Memory", "the kernel does not say how much there is");
        }
        String physical = ByteSize.format(memory.physicalBytes().getAsLong());
        return Finding.present(
                "Memory",
                memory.cgroupLimitBytes().isPresent()
                        ? physical + ", container limit "
                                + ByteSize.format(memory.cgroupLimitBytes().getAsLong())
                        : physical + ", no container limit");
    }

    private static Finding sharedMemory(Path folder) {
        try {
            FileStore store = Files.getFileStore(folder);
            return Finding.present(
                    "Shared memory",
                    folder + ", " + ByteSize.format(store.getUsableSpace()) + " free of "
                            + ByteSize.format(store.getTotalSpace()));
        } catch (IOException e) {
            return Finding.absent("Shared memory", folder + ": " + e.getMessage());
        }
    }

    private static Finding devices(String topic, DeviceProbe probe) {
        String driver = probe.driver().isEmpty() ? "" : probe.driver() + ": ";
        return probe.usable()
                ? Finding.present(topic, driver + String.join(", ", probe.devices()))
                : Finding.absent(topic, driver + probe.reason());
    }

    private static Finding size(String topic, OptionalLong bytes) {
        return bytes.isPresent()
                ? Finding.present(topic, ByteSize.format(bytes.getAsLong()))
                : Finding.absent(topic, "unknown without the native bridge");
    }

    private static Finding hugePages(List<HugePages> pools) {
        List<String> texts = new ArrayList<>();
        boolean any = false;
        for (HugePages pool : pools) {
            any |= pool.total() > 0;
            texts.add(pool.free() + " free of " + pool.total() + " of " + ByteSize.format(pool.pageBytes()));
        }
        String text = String.join("; ", texts);
        if (pools.isEmpty()) {
            return Finding.absent("Huge pages", "the kernel shows none");
        }
        return any
                ? Finding.present("Huge pages", text)
                : Finding.absent("Huge pages", text + " (root reserves them with sysctl vm.nr_hugepages)");
    }

    private static Finding memlock(OptionalLong bytes) {
        if (bytes.isEmpty()) {
            return Finding.absent("Lockable memory", "unknown without the native bridge");
        }
        long limit = bytes.getAsLong();
        return limit == NativeProbe.UNLIMITED
                ? Finding.present("Lockable memory", "unlimited")
                : Finding.present(
                        "Lockable memory",
                        ByteSize.format(limit) + " (RDMA registers more than that only with ulimit -l raised)");
    }
}
