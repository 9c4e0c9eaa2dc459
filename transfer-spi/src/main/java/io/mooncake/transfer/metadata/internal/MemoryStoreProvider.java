// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataServer;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataStoreProvider;

/** Serves {@code memory} and {@code memory://NAME}. */
public final class MemoryStoreProvider implements MetadataStoreProvider {
    @Override
    public String scheme() {
        return "memory";
    }

    @Override
    public MetadataStore open(MetadataServer server, MetadataContext context) {
        return new MemoryStore(server.place(), context);
    }
}
