// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import java.util.concurrent.CompletionStage;

/** Sends a follower's query to its owner. */
@FunctionalInterface
public interface FeedRequests {
    /** @return completed with the reply, or exceptionally within the request's deadline, always */
    CompletionStage<byte[]> send(byte[] query);
}
