// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.MissReason;
import java.io.Serializable;
import java.util.List;
import java.util.UUID;

/**
 * What would be reused for a prompt.
 *
 * @param promptTokens tokens of the prompt
 * @param reusableTokens tokens that may come from a cache at most
 * @param matches what each node holds, longest first
 * @param missReason why nothing longer is reused
 */
public record Explanation(int promptTokens, int reusableTokens, List<Match> matches, MissReason missReason)
        implements Serializable {
    /**
     * @param nodeId a node
     * @param tokens tokens of the prompt's prefix it holds
     * @param local whether it is the node that explains
     */
    public record Match(UUID nodeId, int tokens, boolean local) implements Serializable {}
}
