// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.MetadataStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * What this node wants published, and how much of it the service has. The truth about own records: whatever happens to the service, it
 * is brought to this state again.
 *
 * <p>Threading: one lock; users write wishes, the store's publisher takes {@link #pending} and confirms.
 */
public final class OwnRecords {
    private final UUID owner;
    private long versions;
    /** Wished state by key; a record without value here is a removal not done yet. */
    private final Map<String, Wish> wishes = new LinkedHashMap<>();

    private final Map<String, Long> confirmed = new HashMap<>();
    /**
     * Keys lost since the publisher last took them. The service may tell of a loss before the publisher hears that its write succeeded, and the loss may be of
     * that write: such a confirmation says nothing.
     */
    private final Set<String> lostMeanwhile = new HashSet<>();

    private boolean closed;

    /**
     * One change to be done.
     *
     * @param key the key
     * @param version of the wish, for the confirmation
     * @param record to be put, or empty to remove it
     */
    public record Wish(String key, long version, Optional<MetadataRecord> record) {}

    public OwnRecords(UUID owner) {
        this.owner = owner;
    }

    /** Wishes that a record be published; {@code seen} gets it within the same step, so that readers see wishes in their order. */
    public synchronized Wish put(String key, byte[] value, Consumer<MetadataRecord> seen) {
        requireOpen();
        if (!wishes.containsKey(key) && wishes.size() >= MetadataStore.MAX_OWN_RECORDS) {
            throw new MooncakeException(
                    MooncakeException.Code.EXHAUSTED,
                    "own records: " + (wishes.size() + 1) + " (expected: up to " + MetadataStore.MAX_OWN_RECORDS + ")");
        }
        MetadataRecord record = new MetadataRecord(key, owner, versions + 1, value.clone());
        seen.accept(record);
        return wish(new Wish(key, ++versions, Optional.of(record)));
    }

    /** Wishes that a record be gone; {@code seen} is told within the same step. */
    public synchronized Wish remove(String key, Consumer<String> seen) {
        requireOpen();
        MetadataRecord.requireKey(key);
        Wish before = wishes.get(key);
        if (before == null) {
            return new Wish(key, 0, Optional.empty());
        }
        seen.accept(key);
        return wish(new Wish(key, ++versions, Optional.empty()));
    }

    private Wish wish(Wish wish) {
        wishes.put(wish.key(), wish);
        return wish;
    }

    private void requireOpen() {
        if (closed) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "the metadata store is closed");
        }
    }

    /** Whether the service has that wish or a later one of the key, waiting until the deadline. */
    public synchronized boolean await(Wish wish, Deadline deadline) {
        while (!done(wish)) {
            long left = deadline.remainingMillis();
            if (left == 0 || closed) {
                return false;
            }
            try {
                wait(Math.min(left, 1000));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    private boolean done(Wish wish) {
        Wish now = wishes.get(wish.key());
        return now == null || confirmed.getOrDefault(wish.key(), 0L) >= wish.version();
    }

    /** Up to {@code max} wishes that the service does not have; for one publisher, which confirms them before it takes more. */
    public synchronized List<Wish> pending(int max) {
        List<Wish> found = new ArrayList<>();
        for (Wish wish : wishes.values()) {
            if (found.size() == max) {
                break;
            }
            if (!done(wish)) {
                found.add(wish);
                lostMeanwhile.remove(wish.key());
            }
        }
        return found;
    }

    /** The service has that wish, unless it told of a loss after the wish was taken: then it stays pending. */
    public synchronized void confirm(Wish wish) {
        if (lostMeanwhile.remove(wish.key())) {
            return;
        }
        Wish now = wishes.get(wish.key());
        if (now != null && now.version() == wish.version() && wish.record().isEmpty()) {
            wishes.remove(wish.key());
            confirmed.remove(wish.key());
        } else if (now != null) {
            confirmed.merge(wish.key(), wish.version(), Math::max);
        }
        notifyAll();
    }

    /** The service has lost everything of this node, or may have. */
    public synchronized void lost() {
        confirmed.clear();
        lostMeanwhile.addAll(wishes.keySet());
    }

    /** The service does not have that version of a record (any more); publishes it again if it is still wished. */
    public synchronized void lost(String key) {
        confirmed.remove(key);
        if (wishes.containsKey(key)) {
            lostMeanwhile.add(key);
        }
    }

    /** The record wished under that key, if any. */
    public synchronized Optional<MetadataRecord> find(String key) {
        return Optional.ofNullable(wishes.get(key)).flatMap(Wish::record);
    }

    /** All records wished. */
    public synchronized List<MetadataRecord> all() {
        return wishes.values().stream().flatMap(wish -> wish.record().stream()).toList();
    }

    /** How many wishes the service does not have. */
    public synchronized int unpublished() {
        return (int) wishes.values().stream().filter(wish -> !done(wish)).count();
    }

    /** Refuses further wishes and ends all waiting. */
    public synchronized void close() {
        closed = true;
        notifyAll();
    }
}
