// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.internal.Member;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * The rows of one kind. Reads answer from this node's copy, which is behind by the time of one message and stays usable while the cluster
 * is inactive. Writes are seen by this node's reads when they return.
 *
 * <p>Threading: safe for all threads. Writes block until the cluster has them on two nodes, where it has two; not for Ignite's threads.
 *
 * <p>Errors of writes, as {@link io.mooncake.base.MooncakeException}: ILLEGAL_STATE while the cluster takes none, naming its state; STALE
 * when the writer's life is not in the topology; EXHAUSTED when the row budget or the region is used up; DEADLINE_EXCEEDED and
 * PEER_UNREACHABLE when it is unknown whether the row was written.
 */
public final class StateTable<T extends StateRow> {
    private final StateStore store;
    private final Class<T> kind;
    private final Optional<UUID> writer;

    StateTable(StateStore store, Class<T> kind, Optional<UUID> writer) {
        this.store = store;
        this.kind = kind;
        this.writer = writer;
    }

    /** The same rows, written for {@code member}: refused once its life has left the topology. */
    public StateTable<T> onBehalfOf(Member member) {
        return new StateTable<>(store, kind, Optional.of(member.address().incarnation()));
    }

    /** Row {@code key} as this node knows it. */
    public Optional<Versioned<T>> find(String key) {
        return typed(store.view().find(key));
    }

    /** All rows as this node knows them. */
    public List<Versioned<T>> all() {
        List<Versioned<T>> found = new ArrayList<>();
        for (Versioned<?> row : store.view().rows()) {
            typed(row).ifPresent(found::add);
        }
        return found;
    }

    /** Writes {@code row}, whatever was there. */
    public Versioned<T> put(T row, Deadline deadline) {
        while (true) {
            Optional<Versioned<T>> there = typed(store.read(row.key(), deadline));
            Optional<Versioned<T>> written = write(there, row, deadline);
            if (written.isPresent()) {
                return written.get();
            }
        }
    }

    /** Writes {@code row} unless there is one of its key. @return empty where there is */
    public Optional<Versioned<T>> putIfAbsent(T row, Deadline deadline) {
        return write(Optional.empty(), row, deadline);
    }

    /** Writes {@code row} over {@code known}. @return empty when that is not what is there any more */
    public Optional<Versioned<T>> replace(Versioned<T> known, T row, Deadline deadline) {
        return write(Optional.of(known), row, deadline);
    }

    /** Removes {@code known}. @return whether it was there still */
    public boolean remove(Versioned<T> known, Deadline deadline) {
        return store.remove(known, writer, deadline);
    }

    /** Removes what is under {@code key}, whatever it says. @return whether there was anything */
    public boolean removeAny(String key, Deadline deadline) {
        while (true) {
            Optional<Versioned<T>> there = typed(store.read(key, deadline));
            if (there.isEmpty()) {
                return false;
            }
            if (remove(there.get(), deadline)) {
                return true;
            }
        }
    }

    /** Whether the cluster has {@code row} still, as it is; asks the cluster. */
    public boolean isThere(Versioned<T> row, Deadline deadline) {
        return typed(store.read(row.row().key(), deadline)).equals(Optional.of(row));
    }

    private Optional<Versioned<T>> write(Optional<Versioned<T>> known, T row, Deadline deadline) {
        return store.write(known, row, writer, deadline);
    }

    private Optional<Versioned<T>> typed(@org.jspecify.annotations.Nullable Versioned<?> row) {
        return row != null && kind.isInstance(row.row())
                ? Optional.of(new Versioned<>(kind.cast(row.row()), row.version(), row.node(), row.incarnation()))
                : Optional.empty();
    }
}
