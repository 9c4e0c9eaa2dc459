// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;

/** {@link LocalKvPool} as one tenant sees it. */
class TenantView implements KvPool {
    final LocalKvPool pool;
    final Tenant tenant;

    TenantView(LocalKvPool pool, Tenant tenant) {
        this.pool = pool;
        this.tenant = tenant;
    }

    @Override
    public final String name() {
        return pool.name();
    }

    @Override
    public final KvIdentity identity() {
        return pool.identity();
    }

    @Override
    public final BlockLayout layout() {
        return pool.layout();
    }

    @Override
    public KvPool forTenant(Tenant other) {
        return pool.forTenant(other);
    }

    @Override
    public final PrefixLease acquire(int[] tokens, Deadline deadline) {
        return acquire(tokens, deadline, RequestHints.NONE);
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline, RequestHints hints) {
        return pool.acquire(tenant, tokens, hints);
    }

    @Override
    public final BlockWriter extend(PrefixLease prefix, int[] tokens) {
        return pool.extend(tenant, prefix, tokens);
    }

    @Override
    public final BlockWriter extend(PrefixLease prefix, int[] tokens, Deadline deadline) {
        return pool.extend(tenant, prefix, tokens, deadline);
    }

    @Override
    public final PrefixLease withoutLookup() {
        return pool.withoutLookup(tenant);
    }
}
