// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

/**
 * One turn of a conversation.
 *
 * @param role who speaks: system, user, assistant, or what else the model's template knows
 * @param content what was said; markers in it are ordinary text
 */
public record ChatMessage(String role, String content) {
    /** A turn of the system. */
    public static ChatMessage system(String content) {
        return new ChatMessage("system", content);
    }

    /** A turn of the user. */
    public static ChatMessage user(String content) {
        return new ChatMessage("user", content);
    }

    /** A turn of the model. */
    public static ChatMessage assistant(String content) {
        return new ChatMessage("assistant", content);
    }
}
