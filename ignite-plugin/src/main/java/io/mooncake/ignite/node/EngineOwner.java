// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.config.OwnAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import org.apache.ignite.configuration.IgniteConfiguration;

/**
 * Who owns the node's engine: the communication SPI where it brings one, else the plugin. Nobody else decides this.
 */
final class EngineOwner implements AutoCloseable {
    private static final int CONNECTIONS_PER_PEER = 2;
    private static final long MAX_LEASE_MILLIS = 60_000;

    private final TransferEngine engine;
    private final boolean owned;

    private EngineOwner(TransferEngine engine, boolean owned) {
        this.engine = engine;
        this.owned = owned;
    }

    /** The engine of the SPI, or a new one. The SPI has started by now. */
    static EngineOwner of(IgniteConfiguration config, MooncakeSettings settings) {
        if (config.getCommunicationSpi() instanceof TransferCommunicationSpi spi) {
            return new EngineOwner(spi.engine(), false);
        }
        String host = settings.host().isEmpty() ? OwnAddress.find() : settings.host();
        TransferEngineConfig wanted = TransferEngineConfig.builder(host, settings.secret())
                .ports(settings.portFrom(), settings.portTo())
                .connectionsPerPeer(CONNECTIONS_PER_PEER)
                .maxLeaseMillis(MAX_LEASE_MILLIS)
                .build();
        return new EngineOwner(TransferEngine.start(wanted), true);
    }

    TransferEngine engine() {
        return engine;
    }

    /** Whether the plugin started it. */
    boolean owned() {
        return owned;
    }

    /** Stops the engine if it is the plugin's. */
    @Override
    public void close() {
        if (owned) {
            engine.close();
        }
    }
}
