// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import org.jspecify.annotations.Nullable;

/**
 * Says whose blocks a caller sees. A bean of the user's, or {@link KnownTenants}; the same on every node. Asked for each call that no member
 * of the cluster makes.
 *
 * <p>Threading: called by many threads at once, on the threads that serve clients: it must answer at once, without asking others. Errors:
 * what it throws fails the call.
 */
@FunctionalInterface
public interface TenantResolver {
    /**
     * @param caller never a member
     * @return name of the tenant, 1..128 characters, {@code default} for the tenant of those that name none; null refuses the call as DENIED
     */
    @Nullable
    String resolve(Caller caller);
}
