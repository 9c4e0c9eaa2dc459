// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.chat;

import io.mooncake.base.Deadline;
import io.mooncake.djl.Generation;
import io.mooncake.djl.GenerationRequest;
import io.mooncake.djl.ModelExtension;
import io.mooncake.djl.text.Tokenizer;
import io.mooncake.ignite.JobContext;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What the jobs of this room have in common. */
final class Generations {
    private Generations() {}

    /** The route's prompt as a greedy request that ends at the model's own end of an answer. */
    static GenerationRequest request(JobContext context, ModelExtension model, int newTokens) {
        Tokenizer tokenizer = model.tokenizer();
        Set<Integer> ends = IntStream.range(0, tokenizer.vocabularySize())
                .filter(tokenizer::endsAnswer)
                .boxed()
                .collect(Collectors.toSet());
        return GenerationRequest.of(context.route().tokens())
                .maxNewTokens(newTokens)
                .stopAt(ends);
    }

    /** Runs {@code request} here, and tells the conductor how fast it went. */
    static Generation run(JobContext context, ModelExtension model, GenerationRequest request) {
        Generation generation = model.engine()
                .generate(request, context.pool(), Deadline.of(context.route().timeout()));
        context.prefilled(
                generation.promptTokens() - generation.reusedTokens(), Duration.ofNanos(generation.prefillNanos()));
        return generation;
    }
}
