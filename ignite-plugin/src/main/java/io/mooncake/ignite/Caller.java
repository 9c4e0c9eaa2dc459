// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import org.jspecify.annotations.Nullable;

/**
 * Who asks, as far as a node can tell.
 *
 * @param kind by which way the question came
 * @param login the user that Ignite authenticated; null where the cluster authenticates nobody, and for members
 * @param apiKey what the caller showed instead, as it was sent and believed by nobody yet; null: nothing
 * @param address where the connection comes from, as host and port; null: not known
 */
public record Caller(
        Kind kind,
        @Nullable String login,
        @Nullable String apiKey,
        @Nullable String address) {
    /** By which way a question came. */
    public enum Kind {
        /** Code on a node of the cluster, thick clients included: trusted, and never asked for a tenant. */
        MEMBER,
        /** A call of the service by a thin client; without authentication by anybody. */
        THIN,
        /** An SQL query of a JDBC client, or of anybody else that Ignite runs SQL for. */
        JDBC,
        /** A request that some front end of the user's took in, which fills the record itself. */
        GATEWAY
    }

    /** A node of the cluster. */
    public static final Caller MEMBER_NODE = new Caller(Kind.MEMBER, null, null, null);

    /** A request of a front end, for {@link Mooncake#tenantOf}. */
    public static Caller gateway(@Nullable String login, @Nullable String apiKey, @Nullable String address) {
        return new Caller(Kind.GATEWAY, login, apiKey, address);
    }

    /** Whether it is a node of the cluster. */
    public boolean member() {
        return kind == Kind.MEMBER;
    }

    /** Without the key, which is a secret. */
    @Override
    public String toString() {
        return kind.name().toLowerCase(java.util.Locale.ROOT) + " caller " + (login == null ? "without a login" : login)
                + (apiKey == null ? "" : " with an API key")
                + (address == null ? "" : " from " + address);
    }
}
