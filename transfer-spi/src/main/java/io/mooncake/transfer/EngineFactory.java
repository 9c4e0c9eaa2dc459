// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.rdma.RdmaConfig;

/** Wires an engine together. */
final class EngineFactory {
    private EngineFactory() {}

    static TransferEngine start(TransferEngineConfig config) {
        return start(config, SafetyChecks.ALL);
    }

    /** For the tests that show what each check is for. */
    static TransferEngine start(TransferEngineConfig config, SafetyChecks checks) {
        return new LocalTransferEngine(config, checks, null);
    }

    static TransferEngine start(TransferEngineConfig config, RdmaConfig rdma) {
        return start(config, SafetyChecks.ALL, rdma);
    }

    static TransferEngine start(TransferEngineConfig config, SafetyChecks checks, RdmaConfig rdma) {
        return new LocalTransferEngine(config, checks, rdma);
    }
}
