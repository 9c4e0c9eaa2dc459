// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.base.MooncakeException;
import java.io.Serializable;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What the conductor needs to know of a request. Immutable; each method returns a changed copy.
 *
 * @param pool name of the pool, or {@code name@digest} for one of several that nodes have under one name with other weights
 * @param tokens the prompt's token ids, never changed afterwards
 * @param session conversation it belongs to, or null
 * @param node node that must run it, or null to let the conductor choose
 * @param timeout how long the whole request may take
 * @param tenant name of the tenant whose blocks it reuses and makes; null for the default one
 */
public record Route(
        String pool,
        int[] tokens,
        @Nullable String session,
        @Nullable UUID node,
        Duration timeout,
        @Nullable String tenant)
        implements Serializable {
    /** Longest prompt accepted. */
    public static final int MAX_TOKENS = 10_000_000;

    public Route {
        if (pool.isEmpty()) {
            throw MooncakeException.invalid("pool", pool, "the name of a pool");
        }
        if (tokens.length == 0 || tokens.length > MAX_TOKENS) {
            throw MooncakeException.invalid("tokens", tokens.length + " tokens", "1.." + MAX_TOKENS);
        }
        if (timeout.isNegative() || timeout.isZero() || timeout.compareTo(Duration.ofDays(1)) > 0) {
            throw MooncakeException.invalid("timeout", timeout, "more than zero, at most one day");
        }
        if (tenant != null && (tenant.isEmpty() || tenant.length() > 128)) {
            throw MooncakeException.invalid("tenant", tenant, "1..128 characters");
        }
    }

    /** A route for {@code tokens} of {@code pool}, ten minutes at most. */
    public static Route of(String pool, int[] tokens) {
        return new Route(pool, tokens, null, null, Duration.ofMinutes(10), null);
    }

    /** The same for the pool {@code name}. */
    public Route pool(String name) {
        return new Route(name, tokens, session, node, timeout, tenant);
    }

    /** The same, as part of conversation {@code id}. */
    public Route session(String id) {
        return new Route(pool, tokens, id, node, timeout, tenant);
    }

    /** The same, on node {@code id} whatever the conductor thinks. */
    public Route onNode(UUID id) {
        return new Route(pool, tokens, session, id, timeout, tenant);
    }

    /** The same, with another limit. */
    public Route timeout(Duration limit) {
        return new Route(pool, tokens, session, node, limit, tenant);
    }

    /** The same, for the blocks of tenant {@code name} ({@link Mooncake#tenantOf} says whose a caller's are). */
    public Route tenant(String name) {
        return new Route(pool, tokens, session, node, timeout, name);
    }
}
