// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import io.mooncake.base.MooncakeException;

/**
 * What the choice of a node needs to know of a request.
 *
 * @param promptTokens tokens of the prompt
 * @param reusableTokens of them, those that may come from a cache at most
 * @param bytesPerToken bytes of keys and values a token, what a fetch moves
 */
public record PrefillRequest(int promptTokens, int reusableTokens, long bytesPerToken) {
    public PrefillRequest {
        if (promptTokens < 1) {
            throw MooncakeException.invalid("promptTokens", promptTokens, "at least 1");
        }
        if (reusableTokens < 0 || reusableTokens > promptTokens) {
            throw MooncakeException.invalid("reusableTokens", reusableTokens, "0.." + promptTokens);
        }
        if (bytesPerToken < 1) {
            throw MooncakeException.invalid("bytesPerToken", bytesPerToken, "at least 1");
        }
    }
}
