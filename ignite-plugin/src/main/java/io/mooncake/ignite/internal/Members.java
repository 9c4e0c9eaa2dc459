// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * The nodes that run the plugin, by Ignite's topology, which is the one truth about membership.
 *
 * <p>Threading: safe for all threads; reads are a volatile load. Listeners are called on Ignite's event thread and must not block.
 */
public interface Members {
    /** All of them, this node included once it has joined, sorted by node id. */
    List<Member> all();

    /** The member of that Ignite node id. */
    Optional<Member> find(UUID nodeId);

    /** Which pool a name means on this node. */
    default PoolNames poolNames() {
        return PoolNames.of(Map.of(), all().stream().map(Member::pools).toList());
    }

    /** Whether the engine of that life belongs to a member. */
    default boolean hasEngine(UUID incarnation) {
        return all().stream().anyMatch(member -> member.address().incarnation().equals(incarnation));
    }

    /** Adds a listener; members that are there already are not announced again. */
    void addListener(Listener listener);

    /** Hears of joins and losses. */
    interface Listener {
        /** {@code member} joined. */
        default void onJoined(Member member) {}

        /** {@code member} left or failed: everything it promised is void. */
        default void onLeft(Member member) {}
    }
}
