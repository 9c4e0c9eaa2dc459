// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.KvIdentity;

/**
 * A pool that a node holds.
 *
 * @param name 1..64 characters of letters, digits, '.', '_' and '-'
 * @param identity what its blocks mean; under one name other weights are another pool, and another layout is refused when a node joins
 * @param vocabulary token ids are 0..vocabulary-1
 */
public record PoolDefinition(String name, KvIdentity identity, int vocabulary) {
    public PoolDefinition {
        if (!name.matches("[A-Za-z0-9._-]{1,64}")) {
            throw MooncakeException.invalid("pool name", name, "1..64 letters, digits, '.', '_' or '-'");
        }
        if (vocabulary < 1) {
            throw MooncakeException.invalid("vocabulary", vocabulary, "at least 1");
        }
    }
}
