// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import java.util.UUID;

/** Hears of every batch of blocks that was fetched and verified. Must be quick. */
@FunctionalInterface
public interface FetchListener {
    /**
     * @param holder node the bytes came from
     * @param bytes payload bytes
     * @param nanos from the lease request to the last verified byte
     */
    void onFetched(UUID holder, long bytes, long nanos);
}
