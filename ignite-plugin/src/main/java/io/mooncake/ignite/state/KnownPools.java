// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.config.IdentityText;

/** What is remembered of a pool. */
final class KnownPools {
    private KnownPools() {}

    static StateRow.KnownPool row(PoolDefinition pool) {
        String identity = IdentityText.encode(pool.identity());
        return new StateRow.KnownPool(pool.name(), IdentityText.digest(identity), identity, pool.vocabulary());
    }
}
