// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * How to reach one life of one engine. The text form travels in node attributes and metadata:
 * {@code mooncake1:INCARNATION@HOST/DATAPORT/CONTROLPORT/EVENTPORT}, IPv6 hosts in brackets, further rails behind the host with commas.
 *
 * @param incarnation random id of this life of the engine; another life is another peer
 * @param host address that peers connect to
 * @param dataPort TCP port of the data plane
 * @param controlPort TCP port of requests and replies
 * @param eventPort TCP port of published events
 * @param rails further addresses of the data plane, one a network interface of the peer, in its order; the port is the same
 */
public record PeerAddress(
        UUID incarnation, String host, int dataPort, int controlPort, int eventPort, List<String> rails) {
    private static final String PREFIX = "mooncake1:";

    /** An address with a single rail. */
    public PeerAddress(UUID incarnation, String host, int dataPort, int controlPort, int eventPort) {
        this(incarnation, host, dataPort, controlPort, eventPort, List.of());
    }

    public PeerAddress {
        requirePort("dataPort", dataPort);
        requirePort("controlPort", controlPort);
        requirePort("eventPort", eventPort);
        rails = List.copyOf(rails);
        requireHost(host);
        rails.forEach(PeerAddress::requireHost);
        if (rails.size() >= TransferEngineConfig.MAX_RAILS) {
            throw MooncakeException.invalid("rails", rails.size(), "0.." + (TransferEngineConfig.MAX_RAILS - 1));
        }
    }

    private static void requireHost(String host) {
        if (host.isEmpty() || host.length() > 255) {
            throw MooncakeException.invalid("host", host, "1..255 characters");
        }
    }

    private static void requirePort(String name, int port) {
        if (port < 1 || port > 65535) {
            throw MooncakeException.invalid(name, port, "1..65535");
        }
    }

    /** The text form. */
    public String encode() {
        String further = rails.stream().map(rail -> "," + shown(rail)).collect(Collectors.joining());
        return PREFIX + incarnation + "@" + shown(host) + further + "/" + dataPort + "/" + controlPort + "/"
                + eventPort;
    }

    private static String shown(String host) {
        return host.indexOf(':') >= 0 ? "[" + host + "]" : host;
    }

    private static String parseHost(String shown) {
        return shown.startsWith("[") ? shown.substring(1, shown.length() - 1) : shown;
    }

    /**
     * Parses the text form.
     *
     * @throws MooncakeException INVALID_ARGUMENT when it is none
     */
    public static PeerAddress parse(String text) {
        try {
            if (!text.startsWith(PREFIX)) {
                throw new IllegalArgumentException(text);
            }
            int at = text.indexOf('@');
            String[] parts = text.substring(at + 1).split("/", -1);
            if (parts.length != 4) {
                throw new IllegalArgumentException(text);
            }
            List<String> hosts = Arrays.stream(parts[0].split(",", -1))
                    .map(PeerAddress::parseHost)
                    .toList();
            return new PeerAddress(
                    UUID.fromString(text.substring(PREFIX.length(), at)),
                    hosts.get(0),
                    Integer.parseInt(parts[1]),
                    Integer.parseInt(parts[2]),
                    Integer.parseInt(parts[3]),
                    hosts.subList(1, hosts.size()));
        } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
            throw new MooncakeException(
                    MooncakeException.Code.INVALID_ARGUMENT,
                    "peer address: " + text + " (expected: " + PREFIX + "INCARNATION@HOST/PORT/PORT/PORT)",
                    e);
        }
    }
}
