// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.text.jinja.JinjaTemplate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Chat templates against an independent Jinja and the tokenizer of llama.cpp: texts and ids must be the same. */
class ChatTemplateReferenceIT {
    private static final int TIMEOUT_SECONDS = 180;

    @Test
    void encode_conversations_givesTheIdsOfLlamaCpp() throws Exception {
        LlamaCpp reference = LlamaCpp.require();
        List<List<ChatMessage>> chats = chats();
        assertThat(chats).hasSizeGreaterThanOrEqualTo(200);
        JsonArray answers =
                reference.ask(Map.of("chats", chats), TIMEOUT_SECONDS).getAsJsonArray("chats");
        try (GgufFile file = GgufFile.open(reference.model())) {
            ChatTemplate template = ChatTemplate.of(file.metadata(), Tokenizer.of(file.metadata()));
            for (int i = 0; i < chats.size(); i++) {
                JsonObject answer = answers.get(i).getAsJsonObject();
                assertThat(template.render(chats.get(i), true).text())
                        .isEqualTo(answer.get("text").getAsString());
                assertThat(template.encode(chats.get(i), true))
                        .as("chat %d", i)
                        .isEqualTo(LlamaCpp.ints(answer.get("ids")));
            }
        }
    }

    @Test
    void render_constructsOfPublishedTemplates_givesTheTextOfAnotherJinja() throws Exception {
        LlamaCpp reference = LlamaCpp.require();
        Map<String, Object> variables = JinjaSamples.variables();
        List<Map<String, Object>> requests = new ArrayList<>();
        for (String template : JinjaSamples.TEMPLATES) {
            requests.add(Map.of("template", template, "variables", variables));
        }
        JsonArray answers =
                reference.ask(Map.of("templates", requests), TIMEOUT_SECONDS).getAsJsonArray("templates");
        for (int i = 0; i < requests.size(); i++) {
            String template = JinjaSamples.TEMPLATES.get(i);
            assertThat(JinjaTemplate.parse(template).render(variables).text())
                    .as(template)
                    .isEqualTo(answers.get(i).getAsString());
        }
    }

    /** With and without a system prompt, one turn and three, long and short. */
    private static List<List<ChatMessage>> chats() throws Exception {
        List<String> texts = TestTexts.twoHundred();
        List<List<ChatMessage>> out = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            List<ChatMessage> chat = new ArrayList<>();
            if (i % 3 == 0) {
                chat.add(ChatMessage.system(texts.get((i + 7) % texts.size())));
            }
            chat.add(ChatMessage.user(texts.get(i)));
            if (i % 2 == 0) {
                chat.add(ChatMessage.assistant(texts.get((i + 1) % texts.size())));
                chat.add(ChatMessage.user("  And then? \n"));
            }
            out.add(chat);
        }
        return out;
    }
}
