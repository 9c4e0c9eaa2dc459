// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.MissReason;
import java.io.Serializable;
import java.util.List;
import java.util.UUID;

/**
 * What would be reused for a prompt by the node that explains.
 *
 * @param promptTokens tokens of the prompt
 * @param reusableTokens tokens that may come from a cache at most
 * @param matches what each node holds, longest first
 * @param pieces what the node would take from where, in the prompt's order, without a gap from its first token on
 * @param gaps what it would compute although it may come from a cache, in the prompt's order; empty when nothing is missed
 * @param missReason why nothing longer is reused: the first gap's reason
 */
public record Explanation(
        int promptTokens,
        int reusableTokens,
        List<Match> matches,
        List<Piece> pieces,
        List<Gap> gaps,
        MissReason missReason)
        implements Serializable {
    /**
     * @param nodeId a node
     * @param tokens tokens of the prompt's prefix it holds
     * @param local whether it is the node that explains
     */
    public record Match(UUID nodeId, int tokens, boolean local) implements Serializable {}

    /**
     * Tokens that come from one place.
     *
     * @param fromToken index of the first of them in the prompt
     * @param toToken index behind the last of them
     * @param nodeId the node that has them
     * @param tier {@code DRAM} or {@code SSD}; {@code MIXED} where another node has some in memory and some on its SSD alone
     * @param way {@code LOCAL}, {@code SHARED_MEMORY}, {@code RDMA} or {@code TCP}; {@code UNKNOWN} when the node doesn't answer
     */
    public record Piece(int fromToken, int toToken, UUID nodeId, String tier, String way) implements Serializable {}

    /**
     * Tokens that are missed for one reason.
     *
     * @param fromToken index of the first of them in the prompt
     * @param toToken index behind the last of them
     * @param reason why
     */
    public record Gap(int fromToken, int toToken, MissReason reason) implements Serializable {}
}
