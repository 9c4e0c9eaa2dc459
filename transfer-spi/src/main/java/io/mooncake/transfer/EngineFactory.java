// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.metadata.MetadataStore;

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

    static TransferEngine initialize(String localHostname, String metadataServer, String protocol, String deviceName) {
        TransferEngineConfig config = Initialization.config(localHostname, protocol, deviceName);
        MetadataStore store = Initialization.metadata(metadataServer);
        try {
            LocalTransferEngine engine = new LocalTransferEngine(config, SafetyChecks.ALL);
            engine.publish(store, localHostname);
            return engine;
        } catch (RuntimeException e) {
            store.close();
            throw e;
        }
    }
}
