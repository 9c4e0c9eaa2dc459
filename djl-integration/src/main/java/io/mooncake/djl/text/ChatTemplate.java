// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import io.mooncake.base.MooncakeException;
import io.mooncake.djl.gguf.GgufMetadata;
import io.mooncake.djl.text.jinja.JinjaException;
import io.mooncake.djl.text.jinja.JinjaTemplate;
import io.mooncake.djl.text.jinja.MarkedText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The way a model wants its conversations written, from the metadata's Jinja template. The whole text is tokenised at once, so ids
 * are those of any program that renders the template and then tokenises; but markers count only where the template wrote them, never
 * where a message did. The BOS comes once at most.
 *
 * <p>Immutable and safe for all threads.
 */
public final class ChatTemplate {
    private static final String KEY = "tokenizer.chat_template";
    private static final Set<String> ROLES = Set.of("system", "user", "assistant", "tool");

    private final Tokenizer tokenizer;
    private final JinjaTemplate template;

    private ChatTemplate(Tokenizer tokenizer, JinjaTemplate template) {
        this.tokenizer = tokenizer;
        this.template = template;
    }

    /** The model's template; refuses a model that has none, or one that cannot write a plain question. */
    public static ChatTemplate of(GgufMetadata metadata, Tokenizer tokenizer) {
        String source = metadata.requireString(KEY);
        try {
            ChatTemplate template = new ChatTemplate(tokenizer, JinjaTemplate.parse(source));
            template.render(List.of(ChatMessage.user("x")), true);
            return template;
        } catch (JinjaException | MooncakeException e) {
            throw metadata.refused(KEY, "a chat template that can be rendered; " + e.getMessage());
        }
    }

    /** The conversation as token ids, followed by the start of an answer where {@code answerNext}. */
    public int[] encode(List<ChatMessage> messages, boolean answerNext) {
        MarkedText text = render(messages, answerNext);
        int[] ids = tokenizer.encode(text.text(), text.untrusted());
        int bos = tokenizer.bosId();
        if (!tokenizer.addsBos() || (ids.length > 0 && ids[0] == bos)) {
            return ids;
        }
        int[] withBos = new int[ids.length + 1];
        withBos[0] = bos;
        System.arraycopy(ids, 0, withBos, 1, ids.length);
        return withBos;
    }

    /** The conversation as text, with the stretches that came from messages. */
    public MarkedText render(List<ChatMessage> messages, boolean answerNext) {
        List<Map<String, Object>> turns = new ArrayList<>();
        for (ChatMessage message : messages) {
            // Templates make markers of the usual roles, as in '<|' + role + '|>'; any other role is somebody's text.
            MarkedText role = ROLES.contains(message.role())
                    ? MarkedText.trusted(message.role())
                    : MarkedText.untrusted(message.role());
            turns.add(Map.of("role", role, "content", MarkedText.untrusted(message.content())));
        }
        try {
            return template.render(Map.of(
                    "messages",
                    turns,
                    "add_generation_prompt",
                    answerNext,
                    "bos_token",
                    marker(tokenizer.bosId()),
                    "eos_token",
                    marker(tokenizer.eosId())));
        } catch (JinjaException e) {
            throw new MooncakeException(
                    MooncakeException.Code.INVALID_ARGUMENT,
                    "messages: the chat template cannot write them: " + e.getMessage(),
                    e);
        }
    }

    private String marker(int id) {
        return id < 0 ? "" : tokenizer.decodeWithMarkers(id);
    }
}
