// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataServer;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataStoreProvider;

/** Serves {@code etcd://[user[:password]@]host:port[,host:port...]}. Options: see {@link EtcdSettings}. */
public final class EtcdMetadataStoreProvider implements MetadataStoreProvider {
    @Override
    public String scheme() {
        return "etcd";
    }

    @Override
    public MetadataStore open(MetadataServer server, MetadataContext context) {
        return new EtcdMetadataStore(EtcdSettings.of(server, context), context);
    }
}
