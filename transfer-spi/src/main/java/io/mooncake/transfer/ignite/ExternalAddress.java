// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.configuration.AddressResolver;
import org.jspecify.annotations.Nullable;

/** The address that other nodes are told, where one of Ignite's {@link AddressResolver}s knows what this machine is called outside. */
public final class ExternalAddress {
    private ExternalAddress() {}

    /**
     * {@code own} as peers reach it: for each port the first address that the resolver names, whose ports may be others.
     *
     * @param resolver Ignite's; null, or no answer, leaves addresses as they are
     * @throws MooncakeException CONFIGURATION when the ports of the engine are said to be on several hosts, or the resolver fails
     */
    public static PeerAddress of(PeerAddress own, @Nullable AddressResolver resolver) {
        if (resolver == null) {
            return own;
        }
        InetSocketAddress data = external(resolver, own.host(), own.dataPort());
        InetSocketAddress control = external(resolver, own.host(), own.controlPort());
        InetSocketAddress event = external(resolver, own.host(), own.eventPort());
        String host = data.getHostString();
        if (!host.equals(control.getHostString()) || !host.equals(event.getHostString())) {
            throw refused(own, data + ", " + control + ", " + event, "one host for its three ports");
        }
        List<String> rails = new ArrayList<>();
        for (String rail : own.rails()) {
            InetSocketAddress outside = external(resolver, rail, own.dataPort());
            if (outside.getPort() != data.getPort()) {
                throw refused(own, "rail " + outside, "the same port on every rail, " + data.getPort());
            }
            rails.add(outside.getHostString());
        }
        return new PeerAddress(
                own.incarnation(), host, data.getPort(), control.getPort(), event.getPort(), List.copyOf(rails));
    }

    private static InetSocketAddress external(AddressResolver resolver, String host, int port) {
        InetSocketAddress inside = new InetSocketAddress(host, port);
        try {
            Collection<InetSocketAddress> outside = resolver.getExternalAddresses(inside);
            return outside == null || outside.isEmpty()
                    ? InetSocketAddress.createUnresolved(host, port)
                    : outside.iterator().next();
        } catch (IgniteCheckedException e) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION, "addressResolver: no answer for " + inside + ": " + e, e);
        }
    }

    private static MooncakeException refused(PeerAddress own, String found, String expected) {
        return new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "addressResolver: " + found + " for " + own.encode() + " (expected: " + expected + ")");
    }
}
