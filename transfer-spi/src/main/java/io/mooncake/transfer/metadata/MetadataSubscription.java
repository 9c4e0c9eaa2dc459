// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

/** A listener's registration. */
public interface MetadataSubscription extends AutoCloseable {
    /** Ends it. Idempotent. */
    @Override
    void close();
}
