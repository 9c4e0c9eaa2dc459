// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import java.util.List;

/**
 * A GPU.
 *
 * @param index in the order of bus addresses, which is CUDA's where {@code CUDA_DEVICE_ORDER=PCI_BUS_ID}
 * @param numaNode the node that it hangs on; -1 where the kernel does not say
 * @param pciPath bus addresses from the root complex down to it
 */
public record Gpu(int index, int numaNode, List<String> pciPath) {
    public Gpu {
        pciPath = List.copyOf(pciPath);
    }

    /** Its name as a memory location: {@code gpu:N}. */
    public String location() {
        return "gpu:" + index;
    }

    /** Its own bus address. */
    public String pciAddress() {
        return pciPath.get(pciPath.size() - 1);
    }
}
