// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/** What each safety check is for, over RDMA. Needs a device, as {@link RdmaTransferOnDevice}. */
final class RdmaSafetyCheckOnDevice extends SafetyCheckTest {
    @Override
    TransferEngineConfig config() {
        return RdmaTransferOnDevice.config();
    }
}
