// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

/** How the bytes of GPU memory go, best first. */
public enum GpuPath {
    /** The network card reads and writes GPU memory, which it knows by a dma-buf. */
    DMA_BUF("GPUDirect by dma-buf"),
    /** The network card reads and writes GPU memory, which it knows through a kernel module. */
    PEER_MEMORY("GPUDirect by peer memory"),
    /** Through pinned memory of the host, by the GPU's own copies. */
    STAGED("pinned staging");

    private final String text;

    GpuPath(String text) {
        this.text = text;
    }

    /** Whether network cards reach the memory. */
    public boolean direct() {
        return this != STAGED;
    }

    /** For people. */
    public String text() {
        return text;
    }
}
