// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.transfer.metadata.MetadataListener;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.MetadataSubscription;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One listener: which records changed since it was told (written under the table's lock), and what it was told (event thread alone).
 */
final class Subscription implements MetadataSubscription {
    private static final Logger LOG = LoggerFactory.getLogger(Subscription.class);

    private final RecordTable table;
    private final String prefix;
    private final MetadataListener listener;

    // Under the table's lock.
    private final Set<RecordId> changed = new LinkedHashSet<>();
    private boolean resynced;
    private boolean scheduled;

    // Event thread alone.
    private final Map<RecordId, MetadataRecord> told = new HashMap<>();

    private volatile boolean closed;

    /** Changed records in the order of their first change, what they are now, and all records if there was a resynchronisation. */
    record Work(
            List<RecordId> changed,
            Map<RecordId, Optional<MetadataRecord>> now,
            Optional<List<MetadataRecord>> resynced) {}

    Subscription(RecordTable table, String prefix, MetadataListener listener) {
        this.table = table;
        this.prefix = prefix;
        this.listener = listener;
    }

    String prefix() {
        return prefix;
    }

    void changed(RecordId id) {
        if (id.key().startsWith(prefix) && changed.add(id)) {
            schedule();
        }
    }

    void resynced() {
        resynced = true;
        schedule();
    }

    List<RecordId> takeChanged() {
        scheduled = false;
        List<RecordId> taken = List.copyOf(changed);
        changed.clear();
        return taken;
    }

    boolean takeResynced() {
        boolean was = resynced;
        resynced = false;
        return was;
    }

    private void schedule() {
        if (!scheduled && !closed) {
            scheduled = true;
            table.execute(this::run);
        }
    }

    private void run() {
        Work work = table.take(this);
        for (RecordId id : work.changed()) {
            Optional<MetadataRecord> now = work.now().getOrDefault(id, Optional.empty());
            MetadataRecord before = now.isPresent() ? told.put(id, now.get()) : told.remove(id);
            if (before == null) {
                now.ifPresent(record -> tell(() -> listener.added(record)));
            } else if (now.isEmpty()) {
                tell(() -> listener.removed(before));
            } else if (!before.equals(now.get())) {
                tell(() -> listener.replaced(before, now.get()));
            }
        }
        work.resynced().ifPresent(all -> tell(() -> listener.resynced(all)));
    }

    private void tell(Runnable call) {
        if (closed) {
            return;
        }
        try {
            call.run();
        } catch (RuntimeException e) {
            LOG.warn("A listener of metadata failed", e);
        }
    }

    @Override
    public void close() {
        closed = true;
        table.unsubscribe(this);
    }
}
