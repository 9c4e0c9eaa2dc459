// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The options of an engine inside Ignite as a bean has them, defaults in place, nothing checked: those of
 * {@link TransferCommunicationSpi} and of the plugin alike. Units, defaults and ranges: docs/configuration.md. Mutable until the node
 * starts; {@link EngineOptionsReader} makes a configuration of them.
 */
public class EngineOptions {
    public @Nullable String secret;
    public @Nullable String host;
    public int portFrom = 47700;
    public int portTo = 47899;
    public @Nullable String advertisedHost;
    public @Nullable String transferProtocol = "auto";
    public int connectionsPerPeer = 2;
    public @Nullable List<String> rails = List.of();
    public @Nullable String rdmaDevice;
    public int rdmaPort = 1;
    public int rdmaGidIndex = -1;
    public @Nullable String tlsKeyStore;
    public @Nullable String tlsKeyStorePassword;
    public @Nullable String tlsTrustStore;
    public @Nullable String tlsTrustStorePassword;
}
