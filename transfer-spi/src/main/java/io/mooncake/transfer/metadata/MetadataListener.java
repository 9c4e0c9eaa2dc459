// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import java.util.List;

/** Hears what happens to records. Called on the store's event thread: must not block. */
public interface MetadataListener {
    /** A record is there that was not. */
    default void added(MetadataRecord record) {}

    /** A record has a later version. */
    default void replaced(MetadataRecord before, MetadataRecord now) {}

    /** A record is gone: removed by its owner, or its owner's lease ended. {@code record} is what was known last. */
    default void removed(MetadataRecord record) {}

    /** The store listed everything anew; the calls before told the difference. {@code all} are the records followed, as they are now. */
    default void resynced(List<MetadataRecord> all) {}
}
