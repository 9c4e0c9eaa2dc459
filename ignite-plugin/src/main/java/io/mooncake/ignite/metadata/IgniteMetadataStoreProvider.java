// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataServer;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataStoreProvider;
import java.util.List;
import java.util.Optional;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;

/** Serves {@code ignite} (the one node of this process) and {@code ignite://INSTANCE} (the node of that instance name). */
public final class IgniteMetadataStoreProvider implements MetadataStoreProvider {
    @Override
    public String scheme() {
        return "ignite";
    }

    @Override
    public MetadataStore open(MetadataServer server, MetadataContext context) {
        List<Ignite> nodes = Ignition.allGrids();
        Optional<Ignite> found = server.place().isEmpty()
                ? nodes.stream().filter(node -> nodes.size() == 1).findFirst()
                : nodes.stream()
                        .filter(node -> server.place().equals(node.name()))
                        .findFirst();
        Ignite ignite = found.orElseThrow(() -> new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "Ignite node: " + (server.place().isEmpty() ? "no name given" : server.place())
                        + " (expected: the instance name of a node that runs in this process, none if it is the only one; running: "
                        + nodes.stream()
                                .map(node -> String.valueOf(node.name()))
                                .toList() + ")"));
        return new IgniteMetadataStore(ignite, context);
    }
}
