// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/** From one GPU to another. */
final class GpuTransferTest extends GpuContract {
    @Override
    int ownerGpu() {
        return 0;
    }

    @Override
    int readerGpu() {
        return 1;
    }
}
