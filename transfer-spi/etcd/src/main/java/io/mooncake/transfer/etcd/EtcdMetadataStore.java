// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataListener;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.MetadataStatus;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataSubscription;
import io.mooncake.transfer.metadata.internal.EventThread;
import io.mooncake.transfer.metadata.internal.OwnRecords;
import io.mooncake.transfer.metadata.internal.RecordTable;
import java.util.List;
import java.util.UUID;

/**
 * Metadata in etcd. Users touch the table and the own records in memory; {@link EtcdLoop} keeps both and etcd alike.
 */
final class EtcdMetadataStore implements MetadataStore {
    private final UUID owner;
    private final OwnRecords own;
    private final EventThread events;
    private final RecordTable table;
    private final EtcdLoop loop;

    EtcdMetadataStore(EtcdSettings settings, MetadataContext context) {
        owner = context.owner();
        own = new OwnRecords(owner);
        events = new EventThread("mooncake-metadata-etcd-events");
        table = new RecordTable(owner, context.nanoClock(), events);
        loop = new EtcdLoop(settings, context, table, own);
        loop.start();
    }

    @Override
    public UUID owner() {
        return owner;
    }

    @Override
    public boolean put(String key, byte[] value, Deadline deadline) {
        OwnRecords.Wish wish = own.put(key, value, table::applyOwn);
        loop.wake();
        return own.await(wish, deadline);
    }

    @Override
    public boolean remove(String key, Deadline deadline) {
        OwnRecords.Wish wish = own.remove(key, table::dropOwn);
        loop.wake();
        return own.await(wish, deadline);
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
        return table.awaitSynced(deadline.remainingMillis());
    }

    @Override
    public MetadataStatus status() {
        return loop.status();
    }

    @Override
    public void close() {
        own.close();
        loop.close();
        events.close();
    }
}
