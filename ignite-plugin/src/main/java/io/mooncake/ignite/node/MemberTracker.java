// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.adapter.IgniteAdapter;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.PoolNames;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.ignite.cluster.ClusterNode;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Members by Ignite's topology: after each discovery event the list is made anew from the nodes that are alive, and the difference is told.
 * So a lost or doubled event, or a client's reconnection under a new id, needs no case of its own.
 *
 * <p>Threading: {@link #refresh} is serialised; the map is replaced, never changed, so that reads take no lock.
 */
final class MemberTracker implements Members {
    private static final Logger LOG = LoggerFactory.getLogger(MemberTracker.class);

    private final IgniteAdapter adapter;
    private final List<Listener> listeners = new CopyOnWriteArrayList<>();
    private final Map<String, String> own;
    private volatile PoolNames names;
    private volatile Map<UUID, Member> byId = Map.of();
    private volatile List<Member> sorted = List.of();

    /** @param own this node's pools: name to canonical identity text */
    MemberTracker(IgniteAdapter adapter, Map<String, String> own) {
        this.adapter = adapter;
        this.own = Map.copyOf(own);
        this.names = PoolNames.of(own, List.of());
    }

    @Override
    public List<Member> all() {
        return sorted;
    }

    @Override
    public Optional<Member> find(UUID nodeId) {
        return Optional.ofNullable(byId.get(nodeId));
    }

    @Override
    public PoolNames poolNames() {
        return names;
    }

    @Override
    public void addListener(Listener listener) {
        listeners.add(listener);
    }

    /** Looks at the topology and tells what changed. */
    synchronized void refresh() {
        Map<UUID, Member> before = byId;
        Map<UUID, Member> now = new TreeMap<>();
        UUID localId = adapter.localNodeId();
        List<Map<String, String>> pools = new ArrayList<>();
        List<ClusterNode> nodes = new ArrayList<>(adapter.aliveNodes());
        nodes.sort(Comparator.comparingLong(ClusterNode::order));
        for (ClusterNode node : nodes) {
            try {
                NodeAttributes.member(node, localId).ifPresent(member -> {
                    now.put(member.nodeId(), member);
                    pools.add(member.pools());
                });
            } catch (MooncakeException e) {
                LOG.warn("Node {} is not used: {}", node.id(), e.getMessage());
            }
        }
        names = PoolNames.of(own, pools);
        byId = Map.copyOf(now);
        sorted = now.values().stream()
                .sorted(Comparator.comparing(Member::nodeId))
                .toList();
        before.values().stream()
                .filter(member -> !member.equals(now.get(member.nodeId())))
                .forEach(member -> tell(member, false));
        now.values().stream()
                .filter(member -> !member.equals(before.get(member.nodeId())))
                .forEach(member -> tell(member, true));
    }

    private void tell(Member member, boolean joined) {
        for (Listener listener : listeners) {
            try {
                if (joined) {
                    listener.onJoined(member);
                } else {
                    listener.onLeft(member);
                }
            } catch (RuntimeException e) {
                LOG.warn("A listener of members failed", e);
            }
        }
    }
}
