// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * This node's copy of the state. It is filled by a scan while events of changes come already, in any order between the two; readers see
 * the copy before until the new one is whole.
 *
 * <p>Threading: safe for all threads. Reads take no lock; changes take that of the copy.
 */
final class StateView {
    private final List<StateListener> listeners = new CopyOnWriteArrayList<>();
    private volatile Copy current = new Copy();
    /** What is being filled by a scan, which may have passed what is written meanwhile. */
    private volatile @Nullable Copy filling;

    /** Row {@code key}, or null. */
    @Nullable
    Versioned<?> find(String key) {
        return current.rows.get(key);
    }

    /** All rows, as they change. */
    Collection<Versioned<?>> rows() {
        return current.rows.values();
    }

    int size() {
        return current.rows.size();
    }

    void addListener(StateListener listener) {
        listeners.add(listener);
    }

    /** A new copy; nobody sees it before {@link Copy#whole}. */
    Copy begin() {
        Copy made = new Copy();
        filling = made;
        return made;
    }

    /** This node wrote {@code row}. */
    void wrote(Versioned<?> row) {
        // In this order: whoever becomes the current one between the two gets it.
        Copy next = filling;
        current.changed(row);
        if (next != null) {
            next.changed(row);
        }
    }

    /** This node removed {@code row}. */
    void removed(Versioned<?> row) {
        Copy next = filling;
        current.removed(row);
        if (next != null) {
            next.removed(row);
        }
    }

    private void tell(String key, @Nullable Versioned<?> row) {
        for (StateListener listener : listeners) {
            listener.onChange(key, row);
        }
    }

    /** One filling of the map by one scan, with what this node wrote meanwhile. */
    final class Copy {
        private final Map<String, Versioned<?>> rows = new ConcurrentHashMap<>();
        // While the scan runs: versions that were removed meanwhile, which the scan may still bring.
        private final Map<String, Long> gone = new HashMap<>();
        private boolean whole;

        /** The scan found {@code row}. */
        synchronized void scanned(Versioned<?> row) {
            Long removed = gone.get(row.row().key());
            if (removed == null || removed < row.version()) {
                keep(row);
            }
        }

        /** {@code row} was written. */
        synchronized void changed(Versioned<?> row) {
            keep(row);
        }

        private void keep(Versioned<?> row) {
            String key = row.row().key();
            Versioned<?> known = rows.get(key);
            if (known == null || known.version() < row.version()) {
                rows.put(key, row);
                if (whole) {
                    tell(key, row);
                }
            }
        }

        /** {@code row} was removed, with the version it had. */
        synchronized void removed(Versioned<?> row) {
            String key = row.row().key();
            if (!whole) {
                gone.merge(key, row.version(), Math::max);
            }
            Versioned<?> known = rows.get(key);
            if (known != null && known.version() <= row.version()) {
                rows.remove(key);
                if (whole) {
                    tell(key, null);
                }
            }
        }

        /** The scan is over: readers see this copy from now on, listeners hear what it has otherwise than the one before. */
        synchronized void whole() {
            Map<String, Versioned<?>> before = current.rows;
            current = this;
            filling = null;
            whole = true;
            gone.clear();
            rows.forEach((key, row) -> {
                if (!row.equals(before.get(key))) {
                    tell(key, row);
                }
            });
            for (String key : before.keySet()) {
                if (!rows.containsKey(key)) {
                    tell(key, null);
                }
            }
        }
    }
}
