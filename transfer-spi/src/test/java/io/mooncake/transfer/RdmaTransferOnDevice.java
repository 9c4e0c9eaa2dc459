// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.transfer.rdma.RdmaConfig;

/** The contract over RDMA. Needs a device: {@code RdmaVmIT} runs it in a virtual machine that has one. */
final class RdmaTransferOnDevice extends TransferContract {
    /** Registrations are cut small, so that transfers cross their borders. */
    static final RdmaConfig CONFIG = new RdmaConfig("", 1, -1, 16 << 20, 14, 4);

    @Override
    long read(TransferStatistics statistics) {
        return statistics.readRdma();
    }

    @Override
    TransferEngine start() {
        return TransferEngine.start(config());
    }

    static TransferEngineConfig config() {
        return TransferEngineConfig.builder("127.0.0.1", SECRET)
                .protocol(TransferProtocol.RDMA)
                .rdma(CONFIG)
                .build();
    }
}
