// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;

/** A pool with its SSD, as one tenant sees it. */
final class TieredKvPool implements KvPool {
    private final LocalKvPool pool;
    private final SsdTier tier;
    private final Tenant tenant;

    TieredKvPool(LocalKvPool pool, SsdTier tier, Tenant tenant) {
        this.pool = pool;
        this.tier = tier;
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
        return new TieredKvPool(pool, tier, other);
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline) {
        try (LocalMatch match = pool.match(tenant, tokens)) {
            MissReason reason = match.complete()
                    ? MissReason.NONE
                    : tier.extend(match, tenant, pool.chain(tenant, tokens), deadline);
            return match.toLease(match.matchedTokens(), reason == MissReason.NONE ? MissReason.NOT_CACHED : reason);
        }
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
