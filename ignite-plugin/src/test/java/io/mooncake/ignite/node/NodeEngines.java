// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.Mooncake;
import io.mooncake.transfer.TransferEngine;
import org.apache.ignite.Ignite;

/** The engines of a test's nodes. */
public final class NodeEngines {
    private NodeEngines() {}

    /** The engine of {@code node}, to do by hand what its pools do. */
    public static TransferEngine of(Ignite node) {
        return ((MooncakeNode) Mooncake.of(node)).runtime().engine();
    }
}
