// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.NodeStatistics;
import java.io.Serializable;
import org.apache.ignite.Ignite;
import org.apache.ignite.lang.IgniteCallable;
import org.apache.ignite.resources.IgniteInstanceResource;

/** Small questions to one node, as Ignite jobs. */
public final class NodeCalls {
    private NodeCalls() {}

    /**
     * What a node knows of a prompt.
     *
     * @param localTokens tokens it holds itself
     * @param bestTokens most tokens that any one node holds, as far as it knows
     */
    public record Known(int localTokens, int bestTokens) implements Serializable {}

    /** The node's own figures. */
    static final class Statistics implements IgniteCallable<NodeStatistics> {
        private static final long serialVersionUID = 1L;

        @IgniteInstanceResource
        @SuppressWarnings("NullAway.Init") // injected by Ignite
        private transient Ignite ignite;

        @Override
        public NodeStatistics call() {
            return Mooncake.of(ignite).statistics();
        }
    }

    /** What the node holds and knows of a prompt. */
    static final class Explain implements IgniteCallable<Known> {
        private static final long serialVersionUID = 1L;

        private final String pool;
        private final int[] tokens;

        @IgniteInstanceResource
        @SuppressWarnings("NullAway.Init") // injected by Ignite
        private transient Ignite ignite;

        Explain(String pool, int[] tokens) {
            this.pool = pool;
            this.tokens = tokens;
        }

        @Override
        public Known call() {
            Explanation explanation = Mooncake.of(ignite).explain(pool, tokens);
            int local = 0;
            int best = 0;
            for (Explanation.Match match : explanation.matches()) {
                best = Math.max(best, match.tokens());
                local = match.local() ? Math.max(local, match.tokens()) : local;
            }
            return new Known(local, best);
        }
    }
}
