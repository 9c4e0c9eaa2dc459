// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.util.UUID;

/**
 * What one node holds of a prompt.
 *
 * @param nodeId the holder
 * @param tokens tokens of the prompt's prefix that it holds in whole blocks without a gap
 * @param ssdTokens how many of them it has on its SSD alone
 */
public record Holding(UUID nodeId, int tokens, int ssdTokens) {}
