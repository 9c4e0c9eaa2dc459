// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.UUID;

/** Lives of peers that were declared dead: nothing is asked of them and nothing of theirs is taken any more. Keeps the latest 65,536. */
public final class GonePeers {
    private static final int MAX = 1 << 16;
    private final Set<UUID> gone = new LinkedHashSet<>();

    public synchronized void add(UUID incarnation) {
        gone.add(incarnation);
        if (gone.size() > MAX) {
            gone.remove(gone.iterator().next());
        }
    }

    public synchronized void remove(UUID incarnation) {
        gone.remove(incarnation);
    }

    public synchronized boolean contains(UUID incarnation) {
        return gone.contains(incarnation);
    }
}
