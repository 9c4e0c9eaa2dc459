// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.FakeVerbs;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** Over RDMA, where the calls to a peer share one queue pair. */
@ExtendWith(FakeGpus.WithCards.class)
final class GpuWaitOnDevice extends GpuWaitTest {
    @Override
    TransferEngineConfig.Builder config() {
        return super.config()
                .protocol(TransferProtocol.RDMA)
                .rdma(RdmaRevocationOnDevice.ONE_DEVICE)
                .ports(29_000, 29_600);
    }

    /** The devices do not reach GPU memory, so every byte of it waits for buffers. */
    @BeforeEach
    @Override
    void takeAllBuffers() throws InterruptedException {
        FakeVerbs.behave(false, FakeVerbs.EOPNOTSUPP, 0);
        super.takeAllBuffers();
    }
}
