// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;
import java.util.UUID;

/**
 * How to reach one life of one engine. The text form travels in node attributes and metadata:
 * {@code mooncake1:INCARNATION@HOST/DATAPORT/CONTROLPORT/EVENTPORT}, IPv6 hosts in brackets.
 *
 * @param incarnation random id of this life of the engine; another life is another peer
 * @param host address that peers connect to
 * @param dataPort TCP port of the data plane
 * @param controlPort TCP port of requests and replies
 * @param eventPort TCP port of published events
 */
public record PeerAddress(UUID incarnation, String host, int dataPort, int controlPort, int eventPort) {
    private static final String PREFIX = "mooncake1:";

    public PeerAddress {
        requirePort("dataPort", dataPort);
        requirePort("controlPort", controlPort);
        requirePort("eventPort", eventPort);
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
        String shown = host.indexOf(':') >= 0 ? "[" + host + "]" : host;
        return PREFIX + incarnation + "@" + shown + "/" + dataPort + "/" + controlPort + "/" + eventPort;
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
            String host = parts[0].startsWith("[") ? parts[0].substring(1, parts[0].length() - 1) : parts[0];
            return new PeerAddress(
                    UUID.fromString(text.substring(PREFIX.length(), at)),
                    host,
                    Integer.parseInt(parts[1]),
                    Integer.parseInt(parts[2]),
                    Integer.parseInt(parts[3]));
        } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
            throw new MooncakeException(
                    MooncakeException.Code.INVALID_ARGUMENT,
                    "peer address: " + text + " (expected: " + PREFIX + "INCARNATION@HOST/PORT/PORT/PORT)",
                    e);
        }
    }
}
