// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.support;

import io.mooncake.base.Deadline;
import io.mooncake.djl.Generation;
import io.mooncake.djl.GenerationRequest;
import io.mooncake.djl.ModelExtension;
import io.mooncake.ignite.JobContext;
import io.mooncake.ignite.RoutedJob;
import java.io.Serializable;
import java.time.Duration;

/** Continues the route's prompt twice on its node: with the cache, then by the same code with look-up switched off. */
public final class CompareJob implements RoutedJob<CompareJob.Both> {
    private static final long serialVersionUID = 1L;

    private final int newTokens;

    /** Continues by {@code newTokens} greedy tokens. */
    public CompareJob(int newTokens) {
        this.newTokens = newTokens;
    }

    /** Both answers. */
    public record Both(Generation cached, Generation computed) implements Serializable {
        /** Whether all logits and tokens agree to the bit. */
        public boolean identical() {
            return cached.logitsDigest().equals(computed.logitsDigest())
                    && java.util.Arrays.equals(cached.tokens(), computed.tokens());
        }
    }

    @Override
    public Both run(JobContext context) {
        ModelExtension model = context.extension(context.route().pool(), ModelExtension.class);
        GenerationRequest request =
                GenerationRequest.of(context.route().tokens()).maxNewTokens(newTokens);
        Deadline deadline = Deadline.of(Duration.ofSeconds(60));
        Generation cached = model.engine().generate(request, context.pool(), deadline);
        Generation computed = model.engine().generate(request.withoutCache(), context.pool(), deadline);
        return new Both(cached, computed);
    }
}
