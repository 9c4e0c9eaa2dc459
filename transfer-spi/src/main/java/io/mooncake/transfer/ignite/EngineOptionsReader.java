// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.TlsConfig;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.TransferProtocol;
import io.mooncake.transfer.rdma.RdmaConfig;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.jspecify.annotations.Nullable;

/** Turns {@link EngineOptions} into an engine's configuration, or reports everything that is wrong with them at once. */
public final class EngineOptionsReader {
    /**
     * How the bean calls the options that the beans call differently.
     *
     * @param prefix in front of every name in a message
     */
    public record Names(String prefix, String host, String portFrom, String portTo) {}

    private final EngineOptions options;
    private final Names names;
    private final List<String> wrong = new ArrayList<>();

    private EngineOptionsReader(EngineOptions options, Names names) {
        this.options = options;
        this.names = names;
    }

    /**
     * Everything that is wrong with the options but the secret, one {@code name: value (expected: ...)} each. Reads the files of TLS; binds
     * nothing.
     *
     * @param host address to bind; empty for one of this machine
     * @param ignite configuration of the node, whose ports must be others; null when unknown
     */
    public static List<String> violations(
            EngineOptions options, Names names, String host, @Nullable IgniteConfiguration ignite) {
        EngineOptionsReader reader = new EngineOptionsReader(options, names);
        reader.host(host);
        reader.ports(ignite);
        reader.advertisedHost();
        reader.range("connectionsPerPeer", options.connectionsPerPeer, 1, 64);
        reader.rails(host);
        reader.protocolAndDevice();
        reader.tls();
        return reader.wrong;
    }

    /**
     * The engine's configuration.
     *
     * @param host address to bind; empty for one of this machine
     * @throws MooncakeException CONFIGURATION with every violation
     */
    public static TransferEngineConfig config(EngineOptions options, String host, String secret, long maxLeaseMillis) {
        String bound = host.isEmpty() ? OwnAddress.find() : host;
        return TransferEngineConfig.builder(bound, secret)
                .advertisedHost(Objects.requireNonNullElseGet(options.advertisedHost, () -> advertised(bound)))
                .ports(options.portFrom, options.portTo)
                .connectionsPerPeer(options.connectionsPerPeer)
                .maxLeaseMillis(maxLeaseMillis)
                .protocol(protocol(options))
                .rdma(rdma(options))
                .rails(Objects.requireNonNullElse(options.rails, List.of()))
                .tls(tls(options))
                .build();
    }

    /** The protocol that is asked for; AUTO for a word that is none, which {@link #violations} reports. */
    public static TransferProtocol protocol(EngineOptions options) {
        try {
            return TransferProtocol.parse(Objects.requireNonNullElse(options.transferProtocol, ""));
        } catch (MooncakeException e) {
            return TransferProtocol.AUTO;
        }
    }

    /** Names of the options, besides host, ports and secret, that {@code options} set to something else than the default. */
    public static List<String> changed(EngineOptions options) {
        List<String> names = new ArrayList<>();
        EngineOptions defaults = new EngineOptions();
        for (java.lang.reflect.Field field : EngineOptions.class.getFields()) {
            try {
                boolean elsewhere =
                        Set.of("secret", "host", "portFrom", "portTo").contains(field.getName());
                if (!elsewhere && !Objects.equals(field.get(options), field.get(defaults))) {
                    names.add(field.getName());
                }
            } catch (IllegalAccessException e) {
                throw new IllegalStateException("the fields are public", e);
            }
        }
        return names;
    }

    private static String advertised(String bound) {
        try {
            return InetAddress.getByName(bound).isAnyLocalAddress() ? OwnAddress.find() : bound;
        } catch (UnknownHostException e) {
            return bound;
        }
    }

    private static @Nullable RdmaConfig rdma(EngineOptions options) {
        String devices = Objects.requireNonNullElse(options.rdmaDevice, "");
        RdmaConfig defaults = RdmaConfig.defaults();
        if (devices.isEmpty() && options.rdmaPort == defaults.port() && options.rdmaGidIndex == defaults.gidIndex()) {
            return null;
        }
        return new RdmaConfig(
                devices.isEmpty() ? List.of() : List.of(devices.split(",")),
                options.rdmaPort,
                options.rdmaGidIndex,
                defaults.registrationBytes(),
                defaults.timeoutCode(),
                defaults.retries());
    }

    private static boolean devices(String text) {
        String[] names = text.split(",", -1);
        return names.length <= RdmaConfig.MAX_DEVICES
                && Set.copyOf(List.of(names)).size() == names.length
                && List.of(names).stream().allMatch(name -> name.matches("[\\w.-]{1,63}"));
    }

    private static @Nullable TlsConfig tls(EngineOptions options) {
        if (options.tlsKeyStore == null
                || options.tlsKeyStorePassword == null
                || options.tlsTrustStore == null
                || options.tlsTrustStorePassword == null) {
            return null;
        }
        return new TlsConfig(
                Path.of(options.tlsKeyStore),
                options.tlsKeyStorePassword,
                Path.of(options.tlsTrustStore),
                options.tlsTrustStorePassword);
    }

    private void refuse(String name, Object value, String expected) {
        wrong.add(names.prefix + name + ": " + value + " (expected: " + expected + ")");
    }

    private void range(String name, long value, long min, long max) {
        if (value < min || value > max) {
            refuse(name, value, min + ".." + max);
        }
    }

    private void host(String host) {
        if (options.host != null && options.host.isEmpty()) {
            refuse(names.host, "empty", "an address of this machine");
        } else if (!host.isEmpty() && !ownAddress(host, true)) {
            refuse(names.host, host, "an address of this machine");
        }
    }

    /** Whether {@code host} names an address of this machine, or, where {@code any} is set, all of them. */
    public static boolean ownAddress(String host, boolean orAny) {
        try {
            InetAddress address = InetAddress.getByName(host);
            return address.isAnyLocalAddress()
                    ? orAny
                    : address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null;
        } catch (UnknownHostException | SocketException e) {
            return false;
        }
    }

    private void ports(@Nullable IgniteConfiguration ignite) {
        range(names.portFrom, options.portFrom, 1, 65_535);
        range(names.portTo, options.portTo, 1, 65_535);
        if (options.portTo - options.portFrom < 2) {
            refuse(ports(), options.portFrom + ".." + options.portTo, "at least three ports");
            return;
        }
        if (ignite == null) {
            return;
        }
        if (ignite.getCommunicationSpi() instanceof TcpCommunicationSpi communication) {
            overlap("communication", communication.getLocalPort(), communication.getLocalPortRange());
        }
        ClientConnectorConfiguration connector = ignite.getClientConnectorConfiguration();
        if (connector != null) {
            overlap("client connector", connector.getPort(), connector.getPortRange());
        }
    }

    private String ports() {
        return names.portFrom + ".." + names.portTo;
    }

    private void overlap(String other, int from, int range) {
        if (from > 0 && from <= options.portTo && options.portFrom <= from + range) {
            refuse(
                    ports(),
                    options.portFrom + ".." + options.portTo,
                    "no port of Ignite's " + other + " range " + from + ".." + (from + range));
        }
    }

    private void advertisedHost() {
        String shown = options.advertisedHost;
        if (shown != null && (!shown.matches("[\\w.:%-]{1,255}") || any(shown))) {
            refuse("advertisedHost", shown.isEmpty() ? "empty" : shown, "an address or name that peers can reach");
        }
    }

    private static boolean any(String host) {
        return Set.of("0.0.0.0", "::", "0:0:0:0:0:0:0:0").contains(host);
    }

    private void rails(String host) {
        if (options.rails == null) {
            refuse("rails", "null", "a list of addresses");
            return;
        }
        Set<String> seen = new HashSet<>(List.of(host));
        for (int i = 0; i < options.rails.size(); i++) {
            @Nullable String rail = options.rails.get(i);
            if (rail == null || rail.isEmpty() || !ownAddress(rail, false)) {
                refuse(
                        "rails[" + i + "]",
                        rail == null || rail.isEmpty() ? "empty" : rail,
                        "an address of this machine");
            } else if (!seen.add(rail)) {
                refuse("rails[" + i + "]", rail, "each address once, and not that of " + names.host);
            }
        }
        if (options.rails.size() >= TransferEngineConfig.MAX_RAILS) {
            refuse("rails", options.rails.size() + " addresses", "0.." + (TransferEngineConfig.MAX_RAILS - 1));
        }
    }

    private void protocolAndDevice() {
        String text = Objects.requireNonNullElse(options.transferProtocol, "null");
        TransferProtocol asked = protocol(options);
        if (!asked.text().equals(text.toLowerCase(Locale.ROOT))) {
            refuse("transferProtocol", text.isEmpty() ? "empty" : text, "auto, tcp, shm or rdma");
        }
        range("rdmaPort", options.rdmaPort, 1, 255);
        range("rdmaGidIndex", options.rdmaGidIndex, -1, 255);
        if (options.rdmaDevice == null) {
            return;
        }
        if (!devices(options.rdmaDevice)) {
            refuse(
                    "rdmaDevice",
                    options.rdmaDevice.isEmpty() ? "empty" : options.rdmaDevice,
                    "up to 8 names such as mlx5_0, separated by commas");
        }
        if (asked == TransferProtocol.TCP || asked == TransferProtocol.SHM) {
            refuse("rdmaDevice", options.rdmaDevice, "not set where transferProtocol is " + asked.text());
        }
    }

    /** All of it or nothing; passwords are never shown. */
    private void tls() {
        String[] set = {
            options.tlsKeyStore, options.tlsKeyStorePassword, options.tlsTrustStore, options.tlsTrustStorePassword
        };
        String[] called = {"tlsKeyStore", "tlsKeyStorePassword", "tlsTrustStore", "tlsTrustStorePassword"};
        boolean any = false;
        boolean all = true;
        for (String one : set) {
            any |= one != null;
            all &= one != null;
        }
        for (int i = 0; any && i < set.length; i++) {
            if (set[i] == null) {
                refuse(called[i], "not set", "all four options of TLS or none");
            }
        }
        if (all) {
            store(called[0], String.valueOf(set[0]), String.valueOf(set[1]), true);
            store(called[2], String.valueOf(set[2]), String.valueOf(set[3]), false);
        }
    }

    private void store(String name, String file, String password, boolean key) {
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(in, password.toCharArray());
            for (String alias : Collections.list(store.aliases())) {
                if (key ? store.isKeyEntry(alias) : store.isCertificateEntry(alias)) {
                    return;
                }
            }
            refuse(name, file, key ? "a PKCS 12 file with a key" : "a PKCS 12 file with trusted certificates");
        } catch (IOException | RuntimeException | GeneralSecurityException e) {
            refuse(name, file, "a PKCS 12 file that opens with " + name + "Password; " + reason(e));
        }
    }

    private static String reason(Exception e) {
        return e.getMessage() == null
                ? e.getClass().getSimpleName()
                : e.getClass().getSimpleName() + " " + e.getMessage();
    }
}
