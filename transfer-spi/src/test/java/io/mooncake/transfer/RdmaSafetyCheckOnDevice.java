// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.transfer.internal.SafetyChecks;

/** What each safety check is for, over RDMA. Needs a device, as {@link RdmaTransferOnDevice}. */
final class RdmaSafetyCheckOnDevice extends SafetyCheckTest {
    @Override
    TransferEngine engine(TransferEngineConfig config, SafetyChecks checks) {
        return EngineFactory.start(config, checks, RdmaTransferOnDevice.CONFIG);
    }
}
