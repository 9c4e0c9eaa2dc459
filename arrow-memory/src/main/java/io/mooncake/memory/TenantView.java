// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;

/** {@link LocalKvPool} as one tenant sees it. */
final class TenantView implements KvPool {
    private final LocalKvPool pool;
    private final Tenant tenant;

    TenantView(LocalKvPool pool, Tenant tenant) {
        this.pool = pool;
        this.tenant = tenant;
    }

    @Override
    public String name() {
        return pool.name();
    }

    @Override
    public KvIdentity identity() {
        return pool.identity();
    }

    @Override
    public BlockLayout layout() {
        return pool.layout();
    }

    @Override
    public KvPool forTenant(Tenant other) {
        return pool.forTenant(other);
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline) {
        return pool.acquire(tenant, tokens);
    }

    @Override
    public BlockWriter extend(PrefixLease prefix, int[] tokens) {
        return pool.extend(tenant, prefix, tokens);
    }

    @Override
    public PrefixLease withoutLookup() {
        return pool.withoutLookup(tenant);
    }
}
