// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.transfer.rdma.RdmaConfig;
import java.util.List;

/** The contract over two RDMA devices. Needs them: {@code RdmaVmIT} runs it in a virtual machine that has them. */
final class RdmaTransferOnDevice extends TransferContract {
    /** Registrations are cut small, so that transfers cross their borders. */
    static final RdmaConfig CONFIG = new RdmaConfig(List.of("rxe0", "rxe1"), 1, -1, 4 << 20, 14, 4);

    @Override
    long read(TransferStatistics statistics) {
        return statistics.readRdma();
    }

    @Override
    boolean leasedReadsSeeGenerations() {
        // Their keys end when the owner must have the memory back; until then what matches the checksums is what was
        // leased.
        return false;
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
