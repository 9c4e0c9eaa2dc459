// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import org.jspecify.annotations.Nullable;

/**
 * What became of the node that was restarted, and of the request that only its SSD could help with.
 *
 * @param node its name
 * @param killed whether it had been killed before, rather than stopped
 * @param stopSeconds how long it took to stop; 0 when it was killed
 * @param startSeconds how long it took to be in the cluster again
 * @param ssdBlocksBefore blocks on its SSD when it was looked at last
 * @param ssdBlocksAfter blocks that it found there
 * @param memoryBlocksAfter blocks in its memory before the request
 * @param othersTokens tokens of the desk's prompt that any other node held then
 * @param ssdLoads blocks brought up from the SSD for the request
 * @param ssdTokens tokens of the prompt that came from the SSD
 * @param savedMillis by how much sooner the first token came than it would have without
 * @param request the request
 * @param error why there is no such request, or null
 */
public record RestartRow(
        String node,
        boolean killed,
        double stopSeconds,
        double startSeconds,
        long ssdBlocksBefore,
        long ssdBlocksAfter,
        long memoryBlocksAfter,
        int othersTokens,
        long ssdLoads,
        int ssdTokens,
        double savedMillis,
        @Nullable RequestRow request,
        @Nullable String error) {

    static RestartRow failed(String node, boolean killed, String error) {
        return new RestartRow(node, killed, 0, 0, 0, 0, 0, 0, 0, 0, 0, null, error);
    }

    /** The request, when it was answered. */
    public @Nullable RequestRow answer() {
        RequestRow sent = request;
        return sent != null && sent.answered() ? sent : null;
    }

    /** Why it was not; empty when it was. */
    public String failure() {
        RequestRow sent = request;
        return error != null ? error : sent == null || sent.error() == null ? "" : sent.error();
    }
}
