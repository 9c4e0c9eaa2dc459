// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import org.jspecify.annotations.Nullable;

/** Hears of changes of the state. */
@FunctionalInterface
public interface StateListener {
    /**
     * A row was written or removed, by whichever node. Called on Ignite's threads: it must not block and must not use caches. Versions of
     * one key come in order; some may be left out.
     *
     * @param row null when it was removed
     */
    void onChange(String key, @Nullable Versioned<?> row);
}
