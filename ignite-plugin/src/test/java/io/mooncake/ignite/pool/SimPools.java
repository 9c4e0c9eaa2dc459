// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import io.mooncake.ignite.PoolDefinition;
import io.mooncake.memory.SimMemory;
import java.util.List;
import java.util.function.LongSupplier;

/** A node's pools by a simulation's clock. */
public final class SimPools {
    private SimPools() {}

    /** One pool of {@code bytes}. */
    public static LocalPools of(PoolDefinition definition, long bytes, LongSupplier nanoClock, boolean checksums) {
        return new LocalPools(
                bytes,
                null,
                false,
                List.of(definition),
                (one, memory, offset, share) -> SimMemory.pool(
                        one.name(), one.identity(), one.vocabulary(), memory, offset, share, nanoClock, checksums));
    }
}
