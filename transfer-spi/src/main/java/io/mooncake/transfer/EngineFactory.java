// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.transfer.internal.SafetyChecks;

/** Wires an engine together. */
final class EngineFactory {
    private EngineFactory() {}

    static TransferEngine start(TransferEngineConfig config) {
        return start(config, SafetyChecks.ALL);
    }

    /** For the tests that show what each check is for. */
    static TransferEngine start(TransferEngineConfig config, SafetyChecks checks) {
        return new LocalTransferEngine(config, checks);
    }
}
