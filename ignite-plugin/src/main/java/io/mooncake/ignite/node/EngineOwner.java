// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.ignite.ExternalAddress;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.util.Objects;
import org.apache.ignite.configuration.IgniteConfiguration;

/**
 * Who owns the node's engine: the communication SPI where it brings one, else the plugin. Nobody else decides this.
 */
final class EngineOwner implements AutoCloseable {
    private final TransferEngine engine;
    private final PeerAddress endpoint;
    private final boolean owned;

    private EngineOwner(TransferEngine engine, PeerAddress endpoint, boolean owned) {
        this.engine = engine;
        this.endpoint = endpoint;
        this.owned = owned;
    }

    /** The engine of the SPI, or a new one. The SPI has started by now. */
    static EngineOwner of(IgniteConfiguration config, MooncakeSettings settings) {
        if (config.getCommunicationSpi() instanceof TransferCommunicationSpi spi) {
            return new EngineOwner(spi.engine(), spi.endpoint(), false);
        }
        TransferEngineConfig wanted = Objects.requireNonNull(settings.engine(), "engine");
        TransferEngine engine = TransferEngine.start(wanted);
        try {
            PeerAddress endpoint = settings.advertisedHostNamed()
                    ? engine.address()
                    : ExternalAddress.of(engine.address(), config.getAddressResolver());
            return new EngineOwner(engine, endpoint, true);
        } catch (RuntimeException e) {
            engine.close();
            throw e;
        }
    }

    TransferEngine engine() {
        return engine;
    }

    /** What other nodes are told of it. */
    PeerAddress endpoint() {
        return endpoint;
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
