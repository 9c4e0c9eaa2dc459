// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.common.exception.CompactedException;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.internal.OwnRecords;
import io.mooncake.transfer.metadata.internal.RecordTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the table of records like etcd: lists everything at one revision, then follows from the next.
 *
 * <p>A watch that reports any error is given up for a new list and watch, also where jetcd would resume it: after a resumption jetcd starts from
 * the revision that etcd had when the watch was created, and events between the asked and that revision may be lost. So may be whatever happened
 * when etcd came back without its data.
 *
 * <p>A watch can also fall silent, when its member is paused or cut off. {@link #probe} asks for a sign of life; one that gives none for
 * the lease time is given up.
 *
 * <p>Threading: {@link #start}, {@link #probe} and {@link #stop} by the store's thread alone; events come on jetcd's, and
 * count only while their watch is the current one, which is checked under the lock under which they are applied.
 */
final class EtcdFeed {
    private final Object lock = new Object();
    private final String prefix;
    private final UUID owner;
    private final RecordTable table;
    private final OwnRecords own;
    private final LongSupplier nanoClock;
    private final long leaseNanos;
    private final Runnable wake;

    // Guarded by lock.
    private long generation;
    private boolean broken = true;
    /** Whether the break may have been an outage: anything but a compacted history. */
    private boolean doubtful;

    private String brokenBecause = "";
    private long lastSignNanos;
    private long lastRevision;

    private Watch.@Nullable Watcher watcher;

    EtcdFeed(
            String cluster,
            UUID owner,
            RecordTable table,
            OwnRecords own,
            LongSupplier nanoClock,
            long leaseNanos,
            Runnable wake) {
        this.prefix = EtcdRecordDescriptor.prefix(cluster);
        this.owner = owner;
        this.table = table;
        this.own = own;
        this.nanoClock = nanoClock;
        this.leaseNanos = leaseNanos;
        this.wake = wake;
    }

    /** Whether {@link #start} must be called. */
    boolean broken() {
        synchronized (lock) {
            return broken;
        }
    }

    /** Why; empty at the start. */
    String brokenBecause() {
        synchronized (lock) {
            return brokenBecause;
        }
    }

    /** Lists and follows. */
    void start(EtcdConnection connection) throws EtcdFailure, InterruptedException {
        follow(connection, list(connection));
    }

    /** Makes the table like etcd; returns the revision that it is of. */
    long list(EtcdConnection connection) throws EtcdFailure, InterruptedException {
        stop();
        EtcdConnection.Listing listing = connection.list(EtcdConnection.bytes(prefix));
        synchronized (lock) {
            // A smaller revision is another history: the data was wiped, the living will publish again.
            if (doubtful || listing.revision() < lastRevision) {
                table.outageBegins();
                table.outageEnds();
            }
            resync(listing.records());
            lastRevision = listing.revision();
            doubtful = false;
            return lastRevision;
        }
    }

    /** Follows what comes after {@code revision}. */
    void follow(EtcdConnection connection, long revision) {
        long mine;
        synchronized (lock) {
            mine = ++generation;
            broken = false;
            brokenBecause = "";
            lastSignNanos = nanoClock.getAsLong();
        }
        try {
            watcher = connection.watch(EtcdConnection.bytes(prefix), revision + 1, new Listener(mine));
        } catch (RuntimeException e) {
            synchronized (lock) {
                breakLocked("no watch: " + e.getMessage(), true);
            }
            throw e;
        }
    }

    private void resync(List<KeyValue> listed) {
        List<MetadataRecord> records = new ArrayList<>();
        Map<String, MetadataRecord> mine = new HashMap<>();
        for (KeyValue each : listed) {
            EtcdRecordDescriptor.decode(
                            prefix, each.getKey().getBytes(), each.getValue().getBytes())
                    .ifPresent(record -> {
                        records.add(record);
                        if (record.owner().equals(owner)) {
                            mine.put(record.key(), record);
                        }
                    });
        }
        for (MetadataRecord wished : own.all()) {
            if (!wished.equals(mine.get(wished.key()))) {
                own.lost(wished.key());
            }
        }
        table.resync(records);
    }

    /** Asks the watch for a sign of life, three times a lease time; gives it up when there was none for a whole one. */
    void probe() {
        Watch.Watcher current = watcher;
        synchronized (lock) {
            if (broken || current == null) {
                return;
            }
            if (nanoClock.getAsLong() - lastSignNanos > leaseNanos) {
                breakLocked("the watch was silent", true);
                return;
            }
        }
        current.requestProgress();
    }

    /** Ends following; the table stays. */
    void stop() {
        Watch.Watcher current = watcher;
        watcher = null;
        synchronized (lock) {
            generation++;
            broken = true;
        }
        if (current != null) {
            current.close();
        }
    }

    private void breakLocked(String reason, boolean outage) {
        broken = true;
        doubtful |= outage;
        brokenBecause = reason;
        generation++;
        if (outage) {
            table.outageBegins();
        }
        wake.run();
    }

    private final class Listener implements Watch.Listener {
        private final long mine;

        Listener(long mine) {
            this.mine = mine;
        }

        @Override
        public void onNext(WatchResponse response) {
            synchronized (lock) {
                if (generation == mine) {
                    heard();
                    lastRevision = Math.max(lastRevision, response.getHeader().getRevision());
                    response.getEvents().forEach(this::apply);
                }
            }
        }

        /**
         * After a longer silence than between two probes etcd may have been paused, and ends leases as soon as it goes on whose owners had no
         * chance to renew them: that is an outage, however short.
         */
        private void heard() {
            long now = nanoClock.getAsLong();
            if (now - lastSignNanos > leaseNanos / 2) {
                table.outageBegins();
                table.outageEnds();
            }
            lastSignNanos = now;
        }

        private void apply(WatchEvent event) {
            KeyValue pair = event.getKeyValue();
            byte[] key = pair.getKey().getBytes();
            Optional<MetadataRecord> record = event.getEventType() == WatchEvent.EventType.PUT
                    ? EtcdRecordDescriptor.decode(prefix, key, pair.getValue().getBytes())
                    : Optional.empty();
            if (record.isPresent()) {
                applied(record.get());
                return;
            }
            // Deleted, or overwritten by a stranger with something else.
            EtcdRecordDescriptor.name(prefix, key).ifPresent(gone -> {
                if (gone.owner().equals(owner)) {
                    own.lost(gone.key());
                    wake.run();
                } else {
                    table.drop(gone.key(), gone.owner());
                }
            });
        }

        private void applied(MetadataRecord record) {
            if (!record.owner().equals(owner)) {
                table.apply(record);
                return;
            }
            // An earlier version is our own write on its way to us; anything else that differs is not from us.
            boolean known = own.find(record.key())
                    .filter(wished -> wished.version() > record.version() || wished.equals(record))
                    .isPresent();
            if (!known) {
                own.lost(record.key());
                wake.run();
            }
        }

        @Override
        public void onError(Throwable error) {
            end(String.valueOf(error.getMessage()), !(error instanceof CompactedException));
        }

        @Override
        public void onCompleted() {
            end("etcd ended the watch", true);
        }

        private void end(String reason, boolean outage) {
            synchronized (lock) {
                if (generation == mine) {
                    breakLocked(reason, outage);
                }
            }
        }
    }
}
