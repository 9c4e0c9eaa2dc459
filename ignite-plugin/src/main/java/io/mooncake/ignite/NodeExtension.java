// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import java.util.List;

/**
 * Something that lives in a node beside the pool, for example a model. Configured as a bean of the plugin's {@code extensions}; started
 * after the plugin and stopped before it. An extension is an {@link AutoCloseable}-like life: {@code validate} before anything starts,
 * {@code start} once, {@code stop} once (also after a failed start).
 */
public interface NodeExtension {
    /** Unique on the node. */
    String name();

    /**
     * Checks the configuration before Ignite starts: files, metadata, sizes. Cheap (under 2 s); binds nothing.
     *
     * @throws io.mooncake.base.MooncakeException CONFIGURATION or MODEL_REFUSED, naming value, place and expectation
     */
    default void validate() {}

    /** Pools it needs on this node; asked once, after {@link #validate}. */
    default List<PoolDefinition> pools() {
        return List.of();
    }

    /** Off-heap bytes it will need besides its pools, for example weights and scratch; asked once, after {@link #validate}. */
    default long offHeapBytes() {
        return 0;
    }

    /** Starts it; pools are up. */
    void start(Mooncake mooncake);

    /** Stops it. Idempotent. */
    void stop();
}
