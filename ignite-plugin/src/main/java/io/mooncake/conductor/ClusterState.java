// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * What one router knows of the nodes' load: its own requests counted at dispatch, other routers' requests from the nodes' reports. So a
 * burst through one router never herds onto a node that looked idle in the last report.
 *
 * <p>Threading: safe for all threads. A node's own requests of this router are never taken from its report, which would count them twice
 * or too late.
 */
public final class ClusterState {
    private final UUID router;
    // Guarded by this.
    private final Map<UUID, NodeState> nodes = new HashMap<>();
    private long turns;

    /** @param router the node this router runs on */
    public ClusterState(UUID router) {
        this.router = router;
    }

    /** Counts a request of {@code computeTokens} on {@code node} from now on, until the ticket is closed. */
    public synchronized Ticket dispatch(UUID node, int computeTokens) {
        NodeState state = nodes.computeIfAbsent(node, id -> new NodeState());
        state.ownInFlight++;
        state.ownTokens += computeTokens;
        state.lastChosen = ++turns;
        return new Ticket(state, computeTokens);
    }

    /** Takes a node's report; an older one than the last is ignored. */
    public synchronized void report(LoadReport report) {
        NodeState state = nodes.computeIfAbsent(report.node(), id -> new NodeState());
        if (report.sequence() <= state.sequence) {
            return;
        }
        state.sequence = report.sequence();
        state.prefillTokensPerSecond = report.prefillTokensPerSecond();
        state.fetchBytesPerSecond = report.fetchBytesPerSecond();
        state.holdNanos = report.holdNanos();
        state.otherInFlight = 0;
        state.otherTokens = 0;
        for (LoadReport.Share share : report.shares()) {
            if (!share.router().equals(router)) {
                state.otherInFlight += share.inFlight();
                state.otherTokens += share.queuedTokens();
            }
        }
    }

    /** Forgets every node that is not in {@code alive}. */
    public synchronized void retain(Set<UUID> alive) {
        nodes.keySet().retainAll(alive);
    }

    /** What is known of {@code node}. */
    public synchronized NodeLoad load(UUID node) {
        NodeState state = nodes.get(node);
        if (state == null) {
            return NodeLoad.idle(node);
        }
        return new NodeLoad(
                node,
                state.ownInFlight + state.otherInFlight,
                state.ownTokens + state.otherTokens,
                state.prefillTokensPerSecond,
                state.fetchBytesPerSecond,
                state.holdNanos,
                state.lastChosen);
    }

    /** Guarded by the cluster's state. */
    private static final class NodeState {
        private int ownInFlight;
        private long ownTokens;
        private int otherInFlight;
        private long otherTokens;
        private long sequence;
        private double prefillTokensPerSecond;
        private double fetchBytesPerSecond;
        private long holdNanos;
        private long lastChosen;
    }

    /** A request in flight; close it once when it ends. */
    public final class Ticket implements AutoCloseable {
        private final NodeState state;
        private final int computeTokens;
        private boolean closed;

        private Ticket(NodeState state, int computeTokens) {
            this.state = state;
            this.computeTokens = computeTokens;
        }

        /** The request ended. Idempotent. */
        @Override
        public void close() {
            synchronized (ClusterState.this) {
                if (!closed) {
                    closed = true;
                    state.ownInFlight--;
                    state.ownTokens -= computeTokens;
                }
            }
        }
    }
}
