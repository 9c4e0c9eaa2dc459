// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.transfer.metadata.MetadataRecord;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The records of one name and cluster in this process. Spaces are found by name, so this is the one piece of static state: it lives as long as
 * a store is open on it.
 */
final class MemorySpace {
    private static final Map<String, MemorySpace> SPACES = new HashMap<>();

    private final String name;
    // Guarded by SPACES: joins and changes of all spaces are rare enough for one lock.
    private final TreeMap<RecordId, MetadataRecord> records = new TreeMap<>();
    private final List<RecordTable> tables = new ArrayList<>();

    private MemorySpace(String name) {
        this.name = name;
    }

    static MemorySpace join(String name, RecordTable table) {
        synchronized (SPACES) {
            MemorySpace space = SPACES.computeIfAbsent(name, MemorySpace::new);
            space.tables.add(table);
            table.resync(space.records.values());
            return space;
        }
    }

    void leave(RecordTable table, UUID owner) {
        synchronized (SPACES) {
            tables.remove(table);
            List<RecordId> gone = records.keySet().stream()
                    .filter(id -> id.owner().equals(owner))
                    .toList();
            gone.forEach(this::drop);
            if (tables.isEmpty()) {
                SPACES.remove(name);
            }
        }
    }

    void put(MetadataRecord record) {
        synchronized (SPACES) {
            // Two threads of one owner may arrive in the other order.
            MetadataRecord before = records.get(RecordId.of(record));
            if (before == null || before.version() < record.version()) {
                records.put(RecordId.of(record), record);
                tables.forEach(table -> table.apply(record));
            }
        }
    }

    void drop(RecordId id) {
        synchronized (SPACES) {
            records.remove(id);
            tables.forEach(table -> table.drop(id.key(), id.owner()));
        }
    }
}
