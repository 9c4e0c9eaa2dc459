// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataServer;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataStoreProvider;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/** Finds the provider of a scheme. */
public final class Providers {
    private Providers() {}

    /** Opens with the first provider, by rank, that does not refuse. */
    public static MetadataStore open(MetadataServer server, MetadataContext context) {
        List<String> refused = new ArrayList<>();
        for (MetadataStoreProvider provider : found(refused)) {
            if (!provider.scheme().equals(server.scheme())) {
                refused.add(name(provider) + ": serves " + provider.scheme());
                continue;
            }
            try {
                return provider.open(server, context);
            } catch (MooncakeException e) {
                refused.add(name(provider) + ": " + e.getMessage());
            }
        }
        throw new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "metadataServer: " + server + " (expected: one that a provider on the class path serves; found: "
                        + (refused.isEmpty() ? "none" : String.join("; ", refused)) + ")");
    }

    private static List<MetadataStoreProvider> found(List<String> refused) {
        List<MetadataStoreProvider> providers = new ArrayList<>();
        Iterator<MetadataStoreProvider> loader = ServiceLoader.load(
                        MetadataStoreProvider.class, MetadataStoreProvider.class.getClassLoader())
                .iterator();
        while (true) {
            try {
                if (!loader.hasNext()) {
                    break;
                }
                providers.add(loader.next());
            } catch (ServiceConfigurationError e) {
                refused.add(String.valueOf(e.getMessage()));
            }
        }
        providers.sort(
                Comparator.comparingInt(MetadataStoreProvider::rank).reversed().thenComparing(Providers::name));
        return providers;
    }

    private static String name(MetadataStoreProvider provider) {
        return provider.getClass().getName() + " (rank " + provider.rank() + ")";
    }
}
