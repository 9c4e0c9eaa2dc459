// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.transfer.metadata.MetadataListener;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataSubscription;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store's copy of its cluster's records, and who follows them.
 *
 * <p>States of a record of another owner: absent, present, <em>held</em>. Held is a record that the service no longer has, within an outage or
 * {@link MetadataStore#RETURN_GRACE} after it: readers still see it. It becomes present when its owner publishes it again, absent when the grace ends.
 *
 * <p>Who writes: the store's feed calls {@link #apply}, {@link #drop}, {@link #resync}, {@link #outageBegins} and {@link #outageEnds}, the store's users
 * {@link #applyOwn} and {@link #dropOwn}; all under one lock that is never held while a listener is called. Changes wake subscriptions, which
 * compare what they told their listener with the table on the event executor: what a slow listener misses is bounded by the
 * table, not by the number of events.
 */
public final class RecordTable {
    /** Most records of others; what comes beyond is left out, so that a runaway writer does not fill this node's heap. */
    static final int MAX_RECORDS = 262_144;

    private static final Logger LOG = LoggerFactory.getLogger(RecordTable.class);
    private final Object lock = new Object();
    private final UUID owner;
    private final LongSupplier nanoClock;
    private final Executor events;
    private final List<Subscription> subscriptions = new CopyOnWriteArrayList<>();

    // All below: guarded by lock.
    private final TreeMap<RecordId, MetadataRecord> records = new TreeMap<>();
    private final Set<RecordId> held = new HashSet<>();
    private boolean synced;
    private boolean full;
    private boolean outage;
    private boolean grace;
    private long graceEndsNanos;
    private long resyncs;

    /** @param events one thread, or tasks of different threads in order */
    public RecordTable(UUID owner, LongSupplier nanoClock, Executor events) {
        this.owner = owner;
        this.nanoClock = nanoClock;
        this.events = events;
    }

    /** Own record: seen at once. */
    public void applyOwn(MetadataRecord record) {
        synchronized (lock) {
            set(RecordId.of(record), record);
        }
    }

    /** Own record: gone at once. */
    public void dropOwn(String key) {
        synchronized (lock) {
            unset(new RecordId(key, owner));
        }
    }

    /** A record of another owner as the service has it; own ones are not believed, the owner knows better. */
    public void apply(MetadataRecord record) {
        synchronized (lock) {
            applyLocked(record);
        }
    }

    /** A record that the service does not have any more. */
    public void drop(String key, UUID recordOwner) {
        synchronized (lock) {
            dropLocked(new RecordId(key, recordOwner));
        }
    }

    /** All that the service has. */
    public void resync(Collection<MetadataRecord> all) {
        synchronized (lock) {
            Set<RecordId> gone = new HashSet<>(records.keySet());
            for (MetadataRecord record : all) {
                gone.remove(RecordId.of(record));
                applyLocked(record);
            }
            gone.forEach(this::dropLocked);
            synced = true;
            resyncs++;
            subscriptions.forEach(Subscription::resynced);
            lock.notifyAll();
        }
    }

    /** From now on nothing is dropped. */
    public void outageBegins() {
        synchronized (lock) {
            outage = true;
        }
    }

    /** The service answers again: what it does not have is dropped when the grace ends. */
    public void outageEnds() {
        synchronized (lock) {
            if (outage) {
                outage = false;
                grace = true;
                graceEndsNanos = nanoClock.getAsLong() + MetadataStore.RETURN_GRACE.toNanos();
            }
        }
    }

    /** Drops what is held once the grace is over; to be called now and then, at least once a second. */
    public void dropOverdue() {
        synchronized (lock) {
            if (!outage && grace && nanoClock.getAsLong() - graceEndsNanos >= 0) {
                grace = false;
                List.copyOf(held).forEach(this::unset);
            }
        }
    }

    private void applyLocked(MetadataRecord record) {
        RecordId id = RecordId.of(record);
        if (id.owner().equals(owner)) {
            return;
        }
        held.remove(id);
        MetadataRecord before = records.get(id);
        if (before == null && records.size() >= MAX_RECORDS) {
            if (!full) {
                full = true;
                LOG.warn(
                        "More than {} metadata records; others are left out until the store is opened anew",
                        MAX_RECORDS);
            }
        } else if (before == null || before.version() < record.version()) {
            set(id, record);
        }
    }

    private void dropLocked(RecordId id) {
        if (id.owner().equals(owner) || !records.containsKey(id)) {
            return;
        }
        if (outage || grace) {
            held.add(id);
        } else {
            unset(id);
        }
    }

    private void set(RecordId id, MetadataRecord record) {
        records.put(id, record);
        subscriptions.forEach(each -> each.changed(id));
    }

    private void unset(RecordId id) {
        held.remove(id);
        if (records.remove(id) != null) {
            subscriptions.forEach(each -> each.changed(id));
        }
    }

    /** Records of exactly that key. */
    public List<MetadataRecord> get(String key) {
        synchronized (lock) {
            return List.copyOf(records.subMap(RecordId.first(key), true, RecordId.last(key), true)
                    .values());
        }
    }

    /** Records whose key starts with {@code prefix}. */
    public List<MetadataRecord> list(String prefix) {
        synchronized (lock) {
            return listLocked(prefix);
        }
    }

    private List<MetadataRecord> listLocked(String prefix) {
        List<MetadataRecord> found = new ArrayList<>();
        for (Map.Entry<RecordId, MetadataRecord> entry :
                records.tailMap(RecordId.first(prefix), true).entrySet()) {
            if (!entry.getKey().key().startsWith(prefix)) {
                break;
            }
            found.add(entry.getValue());
        }
        return List.copyOf(found);
    }

    /** How many records there are. */
    public int size() {
        synchronized (lock) {
            return records.size();
        }
    }

    /** How many times {@link #resync} was called. */
    public long resyncs() {
        synchronized (lock) {
            return resyncs;
        }
    }

    /** Whether {@link #resync} was called, waiting for up to {@code millis}. */
    public boolean awaitSynced(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        synchronized (lock) {
            while (!synced) {
                long left = (end - System.nanoTime() + 999_999) / 1_000_000;
                if (left <= 0) {
                    return false;
                }
                try {
                    lock.wait(left);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return false;
                }
            }
            return true;
        }
    }

    /** Follows; see {@link MetadataStore#watch}. */
    public MetadataSubscription watch(String prefix, MetadataListener listener) {
        synchronized (lock) {
            Subscription subscription = new Subscription(this, prefix, listener);
            subscriptions.add(subscription);
            records.keySet().forEach(subscription::changed);
            if (synced) {
                subscription.resynced();
            }
            return subscription;
        }
    }

    void unsubscribe(Subscription subscription) {
        subscriptions.remove(subscription);
    }

    void execute(Runnable task) {
        events.execute(task);
    }

    /** What {@code subscription} has to tell; empties its marks. */
    Subscription.Work take(Subscription subscription) {
        synchronized (lock) {
            List<RecordId> changed = subscription.takeChanged();
            Map<RecordId, Optional<MetadataRecord>> now = new HashMap<>();
            changed.forEach(id -> now.put(id, Optional.ofNullable(records.get(id))));
            boolean resynced = subscription.takeResynced();
            return new Subscription.Work(
                    changed, now, resynced ? Optional.of(listLocked(subscription.prefix())) : Optional.empty());
        }
    }
}
