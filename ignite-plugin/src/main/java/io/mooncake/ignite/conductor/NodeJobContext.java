// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.conductor.NodeMeter;
import io.mooncake.ignite.JobContext;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RouteDecision;
import java.time.Duration;
import org.apache.ignite.Ignite;

/** What one job sees of its node. */
record NodeJobContext(Mooncake mooncake, Route route, RouteDecision decision, NodeMeter.Run run) implements JobContext {
    @Override
    public Ignite ignite() {
        return mooncake.ignite();
    }

    @Override
    public void prefilled(int computedTokens, Duration elapsed) {
        run.prefilled(computedTokens, elapsed.toNanos());
    }
}
