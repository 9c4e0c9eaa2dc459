// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.Mooncake;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.transfer.TransferEngine;
import java.util.Objects;
import org.apache.ignite.Ignite;

/** The engines and pools of a test's nodes. */
public final class NodeEngines {
    private NodeEngines() {}

    /** The engine of {@code node}, to do by hand what its pools do. */
    public static TransferEngine of(Ignite node) {
        return ((MooncakeNode) Mooncake.of(node)).runtime().engine();
    }

    /** What {@code node} itself holds of {@code pool}. */
    public static LocalKvPool pool(Ignite node, String pool) {
        return Objects.requireNonNull(
                ((MooncakeNode) Mooncake.of(node)).runtime().localPools().get(pool));
    }
}
