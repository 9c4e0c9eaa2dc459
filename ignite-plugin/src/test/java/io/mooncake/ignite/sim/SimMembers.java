// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;

/** Who is there, as one node was told. */
final class SimMembers implements Members {
    private final TreeMap<UUID, Member> members = new TreeMap<>();
    private final List<Listener> listeners = new ArrayList<>();
    private final Set<UUID> left = new HashSet<>();

    void join(Member member) {
        if (!left.contains(member.nodeId()) && members.put(member.nodeId(), member) == null) {
            listeners.forEach(listener -> listener.onJoined(member));
        }
    }

    void leave(UUID node) {
        left.add(node);
        Member member = members.remove(node);
        if (member != null) {
            listeners.forEach(listener -> listener.onLeft(member));
        }
    }

    /** Nodes that were told to have left. */
    Set<UUID> left() {
        return left;
    }

    @Override
    public List<Member> all() {
        return List.copyOf(members.values());
    }

    @Override
    public Optional<Member> find(UUID nodeId) {
        return Optional.ofNullable(members.get(nodeId));
    }

    @Override
    public void addListener(Listener listener) {
        listeners.add(listener);
    }
}
