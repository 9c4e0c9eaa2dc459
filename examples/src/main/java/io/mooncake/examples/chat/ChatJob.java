// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.chat;

import io.mooncake.djl.Generation;
import io.mooncake.djl.GenerationRequest;
import io.mooncake.djl.ModelExtension;
import io.mooncake.ignite.JobContext;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.RoutedJob;

/**
 * Answers the route's prompt with the cache, then once more with look-up and storing switched off: the same code, the same node.
 *
 * @param model name of the model extension
 * @param newTokens most tokens of the answer
 */
public record ChatJob(String model, int newTokens) implements RoutedJob<ChatAnswer> {
    private static final long serialVersionUID = 1L;

    @Override
    public ChatAnswer run(JobContext context) {
        ModelExtension extension = context.extension(model, ModelExtension.class);
        GenerationRequest request = Generations.request(context, extension, newTokens);
        long loads = ssdLoads(context);
        Generation cached = Generations.run(context, extension, request);
        int blockTokens = context.pool().identity().blockTokens();
        int ssdTokens = (int) Math.min(cached.localTokens(), (ssdLoads(context) - loads) * blockTokens);
        Generation computed = Generations.run(context, extension, request.withoutCache());
        return new ChatAnswer(
                context.ignite().cluster().localNode().id(),
                extension.tokenizer().decode(cached.tokens()),
                context.pool().layout().payloadBytes(),
                blockTokens,
                ssdTokens,
                cached,
                computed);
    }

    /** Blocks that this node brought up from its SSD so far. */
    private static long ssdLoads(JobContext context) {
        return Mooncake.of(context.ignite()).statistics().ssdLoads();
    }
}
