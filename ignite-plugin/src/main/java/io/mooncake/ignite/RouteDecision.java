// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import java.io.Serializable;
import java.util.UUID;

/**
 * Where a request goes and why.
 *
 * @param nodeId the chosen node
 * @param localTokens tokens of the prompt that the chosen node holds
 * @param bestTokens longest prefix that any single node holds
 * @param promptTokens tokens of the prompt
 * @param inFlight requests at the chosen node when the decision was taken, this one not counted
 * @param forced whether the caller named the node
 */
public record RouteDecision(
        UUID nodeId, int localTokens, int bestTokens, int promptTokens, int inFlight, boolean forced)
        implements Serializable {}
