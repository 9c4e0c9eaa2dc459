// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

/**
 * A node that may run a request.
 *
 * @param load what is known of it
 * @param matchedTokens tokens of the prompt's prefix that it holds
 */
public record Candidate(NodeLoad load, int matchedTokens) {}
