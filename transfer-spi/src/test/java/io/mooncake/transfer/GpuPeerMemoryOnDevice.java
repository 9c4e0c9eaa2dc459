// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.FakeVerbs;
import io.mooncake.transfer.gpu.GpuPath;

/** GPU memory that the devices know by its addresses, through a kernel module. */
final class GpuPeerMemoryOnDevice extends GpuDirectContract {
    @Override
    void behave() {
        FakeVerbs.behave(true, FakeVerbs.EOPNOTSUPP, 0);
    }

    @Override
    GpuPath way() {
        return GpuPath.PEER_MEMORY;
    }
}
