// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.transfer.metadata.MetadataRecord;
import java.util.Comparator;
import java.util.UUID;

/** What names a record. */
record RecordId(String key, UUID owner) implements Comparable<RecordId> {
    private static final Comparator<RecordId> ORDER =
            Comparator.comparing(RecordId::key).thenComparing(RecordId::owner);

    static RecordId of(MetadataRecord record) {
        return new RecordId(record.key(), record.owner());
    }

    /** Before all records of that key. UUIDs compare as signed numbers. */
    static RecordId first(String key) {
        return new RecordId(key, new UUID(Long.MIN_VALUE, Long.MIN_VALUE));
    }

    /** After all records of that key. */
    static RecordId last(String key) {
        return new RecordId(key, new UUID(Long.MAX_VALUE, Long.MAX_VALUE));
    }

    @Override
    public int compareTo(RecordId other) {
        return ORDER.compare(this, other);
    }
}
