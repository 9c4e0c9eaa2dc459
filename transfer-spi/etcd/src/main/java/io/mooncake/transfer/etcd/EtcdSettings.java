// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataServer;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Where etcd is and who we are there. Options of the {@link MetadataContext}: {@value #USER} and {@value #PASSWORD}, for those who do not want them in
 * the address; the address goes first.
 *
 * @param endpoints one a member
 * @param user empty without authentication
 * @param password never printed
 */
record EtcdSettings(List<URI> endpoints, String user, String password) {
    static final String USER = "etcd.user";
    static final String PASSWORD = "etcd.password";

    EtcdSettings {
        endpoints = List.copyOf(endpoints);
        if (user.isEmpty() != password.isEmpty()) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "etcd: a user without password or a password without user (expected: both or none)");
        }
    }

    static EtcdSettings of(MetadataServer server, MetadataContext context) {
        for (String name : context.options().keySet()) {
            if (name.startsWith("etcd.") && !Set.of(USER, PASSWORD).contains(name)) {
                throw MooncakeException.invalid("option", name, USER + " or " + PASSWORD);
            }
        }
        List<URI> endpoints = new ArrayList<>();
        for (String each : server.place().split(",", -1)) {
            endpoints.add(endpoint(each));
        }
        return new EtcdSettings(
                endpoints,
                server.user().isEmpty() ? context.options().getOrDefault(USER, "") : server.user(),
                server.password().isEmpty() ? context.options().getOrDefault(PASSWORD, "") : server.password());
    }

    private static URI endpoint(String text) {
        try {
            URI uri = URI.create("http://" + text);
            if (uri.getHost() != null && uri.getPort() > 0 && uri.getPath().isEmpty() && uri.getQuery() == null) {
                return uri;
            }
        } catch (IllegalArgumentException e) {
            // Told below, as other forms are.
        }
        throw MooncakeException.invalid("etcd address", text, "host:port, IPv6 in brackets, several parted by commas");
    }

    @Override
    public String toString() {
        return "EtcdSettings[" + endpoints + (user.isEmpty() ? "" : " as " + user) + "]";
    }
}
