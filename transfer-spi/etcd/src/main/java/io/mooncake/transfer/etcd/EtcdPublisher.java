// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.internal.OwnRecords;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Brings own records into etcd.
 *
 * <p>Every write names the revision that the record had when this node last looked. A write of ours that was given up and takes effect later thus finds
 * another revision and does nothing: it can never undo a newer one. When the revision differs the answer tells what is there, and the
 * next round builds on that.
 *
 * <p>Threading: {@link #publish} by the store's thread alone.
 */
final class EtcdPublisher {
    /** etcd takes up to 128 operations and 1.5 MiB in a transaction. */
    private static final int BATCH = 64;
    /** Batches before other work has its turn; enough for all records twice. */
    private static final int MAX_BATCHES = 256;

    private final String cluster;
    private final UUID owner;
    private final OwnRecords own;
    /** Revision of each own record in etcd as far as known, 0 for absent. */
    private final Map<String, Long> revisions = new HashMap<>();

    EtcdPublisher(String cluster, UUID owner, OwnRecords own) {
        this.cluster = cluster;
        this.owner = owner;
        this.own = own;
    }

    /** Does what is pending; returns when nothing is, or when somebody else keeps changing our records. */
    void publish(EtcdConnection connection, long lease) throws EtcdFailure, InterruptedException {
        List<OwnRecords.Wish> batch = own.pending(BATCH);
        for (int i = 0; i < MAX_BATCHES && !batch.isEmpty(); i++) {
            publish(connection, lease, batch);
            batch = own.pending(BATCH);
        }
    }

    private void publish(EtcdConnection connection, long lease, List<OwnRecords.Wish> batch)
            throws EtcdFailure, InterruptedException {
        List<Cmp> conditions = new ArrayList<>();
        List<Op> changes = new ArrayList<>();
        List<Op> looks = new ArrayList<>();
        for (OwnRecords.Wish wish : batch) {
            ByteSequence key = EtcdConnection.bytes(EtcdRecordDescriptor.key(cluster, owner, wish.key()));
            conditions.add(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.modRevision(revisions.getOrDefault(wish.key(), 0L))));
            changes.add(
                    wish.record().isPresent()
                            ? put(key, wish.record().get(), lease)
                            : Op.delete(key, DeleteOption.DEFAULT));
            looks.add(Op.get(key, GetOption.DEFAULT));
        }
        TxnResponse answer = connection.transact(conditions, changes, looks);
        if (answer.isSucceeded()) {
            for (OwnRecords.Wish wish : batch) {
                if (wish.record().isPresent()) {
                    revisions.put(wish.key(), answer.getHeader().getRevision());
                } else {
                    revisions.remove(wish.key());
                }
                own.confirm(wish);
            }
        } else {
            List<GetResponse> found = answer.getGetResponses();
            for (int i = 0; i < batch.size(); i++) {
                List<KeyValue> there = found.get(i).getKvs();
                revisions.put(
                        batch.get(i).key(), there.isEmpty() ? 0L : there.get(0).getModRevision());
            }
        }
    }

    private static Op put(ByteSequence key, MetadataRecord record, long lease) {
        return Op.put(
                key,
                ByteSequence.from(EtcdRecordDescriptor.value(record)),
                PutOption.builder().withLeaseId(lease).build());
    }
}
