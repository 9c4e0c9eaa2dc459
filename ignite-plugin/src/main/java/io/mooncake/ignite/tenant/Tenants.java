// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.tenant;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Caller;
import io.mooncake.ignite.TenantResolver;
import io.mooncake.memory.Tenant;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Tenants of one node. A tenant's salt is made of the cluster's secret and its name, so that it is the same on every node, nobody sets it,
 * and no client knows it.
 *
 * <p>Threading: safe for all threads.
 */
public final class Tenants {
    private final String secret;
    private final @Nullable TenantResolver resolver;
    private final Set<String> operators;

    /**
     * @param resolver says whose a caller's blocks are; null: everybody's are the default tenant's
     * @param operators logins that may see all of the node's figures
     */
    public Tenants(String secret, @Nullable TenantResolver resolver, List<String> operators) {
        this.secret = secret;
        this.resolver = resolver;
        this.operators = new TreeSet<>(operators);
    }

    /** The tenant called {@code name}; null and {@code default} are {@link Tenant#DEFAULT}. */
    public Tenant named(@Nullable String name) {
        if (name == null || name.equals(Tenant.DEFAULT.name())) {
            return Tenant.DEFAULT;
        }
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            return new Tenant(name, mac.doFinal(("mooncake-tenant|" + name).getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }

    /**
     * Whose blocks {@code caller} sees.
     *
     * @throws MooncakeException DENIED for one that the resolver does not know
     */
    public Tenant of(Caller caller) {
        TenantResolver asked = resolver;
        if (asked == null || caller.member()) {
            return Tenant.DEFAULT;
        }
        String name = asked.resolve(caller);
        if (name == null) {
            throw denied(caller, "one whose tenant the option tenantResolver knows");
        }
        return named(name);
    }

    /**
     * Lets pass who may see figures of all tenants: members, operators, and everybody where nobody is authenticated. A front end's request
     * without a login is never an operator's: the front end itself is the member.
     *
     * @throws MooncakeException DENIED for every other login
     */
    public void requireOperator(Caller caller) {
        String login = caller.login();
        if (login == null ? caller.kind() == Caller.Kind.GATEWAY : !operators.contains(login)) {
            throw denied(caller, "one of the option operators, " + operators);
        }
    }

    private static MooncakeException denied(Caller caller, String expected) {
        return new MooncakeException(
                MooncakeException.Code.DENIED, "DENIED: " + caller + " (expected: " + expected + ")");
    }
}
