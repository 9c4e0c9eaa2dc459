// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collections;
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
        String host = settings.host().isEmpty() ? ownAddress() : settings.host();
        TransferEngineConfig wanted = new TransferEngineConfig(
                host,
                host,
                settings.portFrom(),
                settings.portTo(),
                settings.secret(),
                CONNECTIONS_PER_PEER,
                MAX_LEASE_MILLIS,
                true);
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

    /** The address that other hosts most likely reach: the first of a site, else any that is not the loopback, else the loopback. */
    private static String ownAddress() {
        String found = "127.0.0.1";
        try {
            for (NetworkInterface card : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                if (!card.isUp() || card.isLoopback() || card.isPointToPoint()) {
                    continue;
                }
                for (InetAddress address : Collections.list(card.getInetAddresses())) {
                    if (address instanceof Inet4Address && address.isSiteLocalAddress()) {
                        return address.getHostAddress();
                    }
                    if (address instanceof Inet4Address && !address.isLinkLocalAddress()) {
                        found = address.getHostAddress();
                    }
                }
            }
        } catch (SocketException e) {
            return found;
        }
        return found;
    }
}
