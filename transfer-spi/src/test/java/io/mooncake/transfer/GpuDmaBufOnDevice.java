// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.FakeVerbs;
import io.mooncake.transfer.gpu.GpuPath;

/** GPU memory that the devices know by dma-bufs. */
final class GpuDmaBufOnDevice extends GpuDirectContract {
    @Override
    void behave() {
        FakeVerbs.behave(true, 0, 0);
    }

    @Override
    GpuPath way() {
        return GpuPath.DMA_BUF;
    }
}
