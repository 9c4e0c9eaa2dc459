// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.Verbs;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataServer;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.rdma.RdmaConfig;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Understands the texts of {@link TransferEngine#initialize}; every error names the text and what was expected. */
final class Initialization {
    static final String SECRET_PROPERTY = "mooncake.secret";
    static final String SECRET_VARIABLE = "MOONCAKE_SECRET";
    static final String CLUSTER_PROPERTY = "mooncake.cluster";
    static final String CLUSTER_VARIABLE = "MOONCAKE_CLUSTER";

    private static final int DEFAULT_PORT = 47_700;
    private static final int PORTS = 200;
    /** {@code host}, {@code host:port}, {@code [IPv6]}, {@code [IPv6]:port}. */
    private static final Pattern NAME =
            Pattern.compile("(?:\\[([0-9A-Fa-f:.%A-Za-z0-9]+)]|([^\\[\\]:\\s]+))(?::(\\d{1,5}))?");

    private static final Map<String, String> ARTIFACTS = Map.of(
            "etcd", "mooncake-transfer-etcd", "ignite", "mooncake-ignite-plugin", "memory", "mooncake-transfer-spi");

    private Initialization() {}

    /** The configuration that the texts stand for. */
    static TransferEngineConfig config(String localHostname, String protocol, String deviceName) {
        Matcher name = NAME.matcher(localHostname);
        if (!name.matches()) {
            throw MooncakeException.invalid(
                    "localHostname", localHostname, "host or host:port, an IPv6 address in brackets");
        }
        String host = name.group(1) == null ? name.group(2) : name.group(1);
        int port = name.group(3) == null ? DEFAULT_PORT : Integer.parseInt(name.group(3));
        if (port < 1 || port > 65_533) {
            throw MooncakeException.invalid("localHostname", localHostname, "a port of 1..65533, where three are free");
        }
        InetAddress address = ownAddress(localHostname, host);
        TransferProtocol wanted = TransferProtocol.parse(protocol);
        List<String> devices = new ArrayList<>();
        List<String> rails = new ArrayList<>();
        if (!deviceName.isBlank()) {
            for (String one : deviceName.split(",", -1)) {
                sort(one.strip(), wanted, address, devices, rails);
            }
        }
        TransferEngineConfig.Builder builder = TransferEngineConfig.builder(host, secret())
                .ports(port, Math.min(65_535, port + PORTS - 1))
                .protocol(wanted)
                .rails(rails);
        return devices.isEmpty()
                ? builder.build()
                : builder.rdma(RdmaConfig.ofDevices(devices)).build();
    }

    private static InetAddress ownAddress(String localHostname, String host) {
        String expected = "the name or address of an interface of this machine, which peers can reach";
        try {
            InetAddress address = InetAddress.getByName(host);
            if (address.isAnyLocalAddress() || NetworkInterface.getByInetAddress(address) == null) {
                throw MooncakeException.invalid("localHostname", localHostname + ", " + address, expected);
            }
            return address;
        } catch (UnknownHostException | SocketException e) {
            throw new MooncakeException(
                    MooncakeException.Code.INVALID_ARGUMENT,
                    "localHostname: " + localHostname + " (expected: " + expected + "): " + e.getMessage(),
                    e);
        }
    }

    /** A name is a device of RDMA or an interface of the network, as far as the protocol uses them. */
    private static void sort(
            String name, TransferProtocol protocol, InetAddress first, List<String> devices, List<String> rails) {
        boolean mayRdma = protocol == TransferProtocol.AUTO || protocol == TransferProtocol.RDMA;
        if (mayRdma && Verbs.devices().contains(name)) {
            devices.add(name);
            return;
        }
        NetworkInterface found = protocol == TransferProtocol.RDMA ? null : networkInterface(name);
        if (found == null) {
            throw MooncakeException.invalid(
                    "deviceName",
                    name.isEmpty() ? "an empty name" : name,
                    (mayRdma
                                    ? "RDMA devices: " + Verbs.devices()
                                            + Verbs.unavailable()
                                                    .map(why -> " (" + why + ")")
                                                    .orElse("")
                                    : "")
                            + (mayRdma && protocol != TransferProtocol.RDMA ? ", or " : "")
                            + (protocol == TransferProtocol.RDMA ? "" : "network interfaces: " + networkInterfaces()));
        }
        InetAddress address = railAddress(found, first);
        if (!address.equals(first)) {
            rails.add(address.getHostAddress());
        }
    }

    private static @Nullable NetworkInterface networkInterface(String name) {
        try {
            return name.isEmpty() ? null : NetworkInterface.getByName(name);
        } catch (SocketException e) {
            return null;
        }
    }

    private static List<String> networkInterfaces() {
        try {
            return NetworkInterface.networkInterfaces()
                    .map(NetworkInterface::getName)
                    .sorted()
                    .toList();
        } catch (SocketException e) {
            return List.of();
        }
    }

    /** Of the interface that has the first address: that one; else its first one of the same family. */
    private static InetAddress railAddress(NetworkInterface of, InetAddress first) {
        List<InetAddress> all = Collections.list(of.getInetAddresses());
        if (all.contains(first)) {
            return first;
        }
        return all.stream()
                .filter(one -> (one instanceof Inet4Address) == (first instanceof Inet4Address)
                        && one.isLinkLocalAddress() == first.isLinkLocalAddress())
                .findFirst()
                .orElseThrow(() -> MooncakeException.invalid(
                        "deviceName", of.getName(), "an interface with an address like " + first.getHostAddress()));
    }

    private static String secret() {
        String secret = setting(SECRET_PROPERTY, SECRET_VARIABLE);
        if (secret == null || secret.length() < 16 || secret.length() > 256) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "secret: " + (secret == null ? "missing" : secret.length() + " characters")
                            + " (expected: 16..256 characters, the same for all engines of the cluster, in the system property "
                            + SECRET_PROPERTY + " or the environment variable " + SECRET_VARIABLE + ")");
        }
        return secret;
    }

    private static @Nullable String setting(String property, String variable) {
        String value = System.getProperty(property);
        return value == null ? System.getenv(variable) : value;
    }

    /** Opens the metadata. */
    static MetadataStore metadata(String metadataServer) {
        String scheme = MetadataServer.parse(metadataServer).scheme();
        String artifact = ARTIFACTS.get(scheme);
        if (artifact == null) {
            throw MooncakeException.invalid(
                    "metadataServer",
                    metadataServer.contains("@") ? scheme : metadataServer,
                    "etcd://host:port[,host:port...], ignite or memory");
        }
        String cluster = setting(CLUSTER_PROPERTY, CLUSTER_VARIABLE);
        try {
            return MetadataStore.open(metadataServer, MetadataContext.of(cluster == null ? "default" : cluster));
        } catch (MooncakeException e) {
            throw new MooncakeException(
                    e.code(), e.getMessage() + "; " + scheme + " comes with the artifact " + artifact, e);
        }
    }
}
