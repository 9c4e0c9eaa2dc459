// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataStoreContract;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The contract over one etcd. */
class EtcdMetadataStoreTest extends MetadataStoreContract {
    private static EtcdServers servers;

    private final String cluster = UUID.randomUUID().toString();

    @BeforeAll
    static void startServer() throws Exception {
        servers = EtcdServers.of(1);
    }

    @AfterAll
    static void stopServer() throws Exception {
        if (servers != null) {
            servers.close();
        }
    }

    @Override
    protected MetadataStore openNode() {
        return MetadataStore.open(servers.uri(), MetadataContext.of(cluster));
    }

    @Test
    void open_withManyRecords_readsThemInPages() throws Exception {
        MetadataStore writer = open();
        int records = 300;
        byte[] value = new byte[2000];
        for (int i = 0; i < records; i++) {
            writer.put("many/" + i, value, io.mooncake.base.Deadline.ofMillis(1));
        }
        eventually(() -> writer.status().unpublished() == 0);
        MetadataStore reader = open();
        assertThat(reader.list("many/")).hasSize(records).isEqualTo(writer.list("many/"));
    }
}
