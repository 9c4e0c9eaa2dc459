// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.chat;

import io.mooncake.djl.Generation;
import io.mooncake.djl.ModelExtension;
import io.mooncake.ignite.JobContext;
import io.mooncake.ignite.RoutedJob;

/**
 * Computes the route's prompt once, so that its blocks are in the node's memory.
 *
 * @param model name of the model extension
 */
public record StoreJob(String model) implements RoutedJob<Generation> {
    private static final long serialVersionUID = 1L;

    @Override
    public Generation run(JobContext context) {
        ModelExtension extension = context.extension(model, ModelExtension.class);
        return Generations.run(context, extension, Generations.request(context, extension, 1));
    }
}
