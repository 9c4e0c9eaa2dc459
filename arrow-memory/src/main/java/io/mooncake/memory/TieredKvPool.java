// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;

/** A pool with its SSD, as one tenant sees it. */
final class TieredKvPool extends TenantView {
    private final SsdTier tier;

    TieredKvPool(LocalKvPool pool, SsdTier tier, Tenant tenant) {
        super(pool, tenant);
        this.tier = tier;
    }

    @Override
    public KvPool forTenant(Tenant other) {
        return new TieredKvPool(pool, tier, other);
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline, RequestHints hints) {
        try (LocalMatch match = pool.match(tenant, tokens, hints)) {
            MissReason reason =
                    match.complete() ? MissReason.NONE : tier.extend(match, tenant, match.chain(), deadline);
            return match.toLease(match.matchedTokens(), reason == MissReason.NONE ? MissReason.NOT_CACHED : reason);
        }
    }
}
