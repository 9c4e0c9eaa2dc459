// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataListener;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.MetadataStatus;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataSubscription;
import java.util.List;
import java.util.UUID;

/** Metadata within one process: for tests, and for engines that talk to each other there. Has no outages. */
final class MemoryStore implements MetadataStore {
    private final UUID owner;
    private final OwnRecords own;
    private final EventThread events;
    private final RecordTable table;
    private final MemorySpace space;
    private boolean closed;

    MemoryStore(String name, MetadataContext context) {
        owner = context.owner();
        own = new OwnRecords(owner);
        events = new EventThread("mooncake-metadata-memory");
        table = new RecordTable(owner, context.nanoClock(), events);
        space = MemorySpace.join(context.cluster() + "/" + name, table);
    }

    @Override
    public UUID owner() {
        return owner;
    }

    @Override
    public synchronized boolean put(String key, byte[] value, Deadline deadline) {
        OwnRecords.Wish wish = own.put(key, value, table::applyOwn);
        wish.record().ifPresent(space::put);
        own.confirm(wish);
        return true;
    }

    @Override
    public synchronized boolean remove(String key, Deadline deadline) {
        OwnRecords.Wish wish = own.remove(key, table::dropOwn);
        space.drop(new RecordId(key, owner));
        own.confirm(wish);
        return true;
    }

    @Override
    public List<MetadataRecord> get(String key) {
        return table.get(key);
    }

    @Override
    public List<MetadataRecord> list(String prefix) {
        return table.list(prefix);
    }

    @Override
    public MetadataSubscription watch(String prefix, MetadataListener listener) {
        return table.watch(prefix, listener);
    }

    @Override
    public boolean awaitSynced(Deadline deadline) {
        return true;
    }

    @Override
    public synchronized MetadataStatus status() {
        MetadataStatus.State state = closed ? MetadataStatus.State.CLOSED : MetadataStatus.State.SYNCED;
        return new MetadataStatus(state, "", table.size(), 0, table.resyncs(), 0, 0);
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            own.close();
            space.leave(table, owner);
            events.close();
        }
    }
}
