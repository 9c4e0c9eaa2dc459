// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.util.List;
import java.util.OptionalLong;

/**
 * What this machine offers to a KV cache, as found now. Nothing is assumed: a value that could not be read is empty, a device that
 * cannot be used comes with the driver's reason.
 *
 * @param bridge the C bridge, or why it is absent
 * @param rdma libibverbs and its devices
 * @param cuda the CUDA driver and its devices
 * @param pageBytes size of a memory page; empty without the bridge
 * @param hugePages the kernel's pools of huge pages
 * @param memlock how much memory this process may lock, the limit in force; empty without the bridge
 * @param memory physical memory and the container's limit
 */
public record NativeProbe(
        NativeBridge.Availability bridge,
        DeviceProbe rdma,
        DeviceProbe cuda,
        OptionalLong pageBytes,
        List<HugePages> hugePages,
        OptionalLong memlock,
        MachineMemory memory) {
    /** In {@link #memlock}: the process may lock all memory. */
    public static final long UNLIMITED = -1;

    public NativeProbe {
        hugePages = List.copyOf(hugePages);
    }

    /** Probes the machine. Never throws; the CUDA driver's first start may take a second. */
    public static NativeProbe take() {
        NativeBridge.Availability bridge = NativeBridge.availability();
        if (bridge instanceof NativeBridge.Unavailable absent) {
            DeviceProbe unknown = DeviceProbe.withoutBridge(absent.reason());
            return new NativeProbe(
                    bridge,
                    unknown,
                    unknown,
                    OptionalLong.empty(),
                    HugePages.pools(),
                    OptionalLong.empty(),
                    MachineMemory.read());
        }
        long memlock = NativeCalls.memlockBytes(false);
        return new NativeProbe(
                bridge,
                DeviceProbe.of(NativeCalls.rdmaDevices()),
                DeviceProbe.of(NativeCalls.cudaDevices(Cuda.library())),
                OptionalLong.of(NativeCalls.pageSizeBytes()),
                HugePages.pools(),
                memlock < UNLIMITED ? OptionalLong.empty() : OptionalLong.of(memlock),
                MachineMemory.read());
    }
}
