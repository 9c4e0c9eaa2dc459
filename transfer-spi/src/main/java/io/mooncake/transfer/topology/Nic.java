// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import java.util.List;

/**
 * A network interface or RDMA device.
 *
 * @param name as the kernel calls it: {@code eth0}, {@code mlx5_0}
 * @param rdma whether it is an RDMA device; its network interface is listed too
 * @param numaNode the node that it hangs on; -1 where the kernel does not say
 * @param pciPath bus addresses from the root complex down to it; empty for virtual ones
 * @param megabits speed of its link; -1 where the kernel does not say
 * @param active whether its link is up
 */
public record Nic(String name, boolean rdma, int numaNode, List<String> pciPath, long megabits, boolean active) {
    public Nic {
        pciPath = List.copyOf(pciPath);
    }

    /** Whether a device of the machine stands behind it. */
    public boolean physical() {
        return !pciPath.isEmpty();
    }
}
