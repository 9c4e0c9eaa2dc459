// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

/**
 * Opens stores of one scheme; found by {@link java.util.ServiceLoader}. Of several with the same scheme those of higher rank are asked first.
 */
public interface MetadataStoreProvider {
    /** The scheme it serves, lower case. */
    String scheme();

    /** Higher is asked first; ours have 0. */
    default int rank() {
        return 0;
    }

    /**
     * Opens a store. Does not wait for the service.
     *
     * @throws io.mooncake.base.MooncakeException when {@code server} cannot be served by this provider, with the reason; the next is asked
     */
    MetadataStore open(MetadataServer server, MetadataContext context);
}
