// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.djl.Conversation;
import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.llama.LlamaConfig;
import io.mooncake.djl.llama.LlamaGguf;
import io.mooncake.djl.text.ChatMessage;
import io.mooncake.djl.text.ChatTemplate;
import io.mooncake.djl.text.Tokenizer;
import io.mooncake.examples.chat.ChatAnswer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The client's side of all conversations: their ledgers of token ids, one a conversation. It reads the model file's tokenizer and
 * template and the model's shape, not its weights.
 *
 * <p>Threading: safe for several threads that serve different conversations.
 */
final class Conversations {
    private static final int BLOCK_TOKENS = 64;
    /** Most tokens by which the shared part of a desk's prompts may stand over the last whole block. */
    private static final int MAX_OVERHANG = 6;

    private static final List<String> REMINDERS =
            List.of("Be kind.", "Stay calm.", "Thank the guest.", "Keep it short.", "Name the price.", "Smile.");

    private final Tokenizer tokenizer;
    private final ChatTemplate template;
    private final Map<String, String> systemPrompts = new ConcurrentHashMap<>();
    private final Map<String, Conversation> conversations = new ConcurrentHashMap<>();
    private final Map<Integer, Conversation.Turn> turns = new ConcurrentHashMap<>();
    private final long bytesPerToken;

    private Conversations(Tokenizer tokenizer, ChatTemplate template, long bytesPerToken) {
        this.tokenizer = tokenizer;
        this.template = template;
        this.bytesPerToken = bytesPerToken;
    }

    /**
     * Conversations with {@code model}.
     *
     * @throws io.mooncake.base.MooncakeException MODEL_REFUSED naming what is wrong with the file
     */
    static Conversations open(Path model) {
        try (GgufFile file = GgufFile.open(model)) {
            Tokenizer tokenizer = Tokenizer.of(file.metadata());
            return new Conversations(
                    tokenizer,
                    ChatTemplate.of(file.metadata(), tokenizer),
                    bytesPerToken(new LlamaGguf(file).config()));
        }
    }

    /** Keys and values of all layers, as the decoder keeps them. */
    private static long bytesPerToken(LlamaConfig config) {
        return 2L * config.layers() * config.kvHeads() * config.headSize() * Float.BYTES;
    }

    /** Token ids of the whole conversation up to {@code request}'s question and the start of the answer. */
    int[] prompt(Plan.Request request) {
        Conversation conversation =
                conversations.computeIfAbsent(request.conversation(), id -> new Conversation(tokenizer, template)
                        .system(systemPrompt(request.desk())));
        Conversation.Turn turn = conversation.ask(request.question());
        turns.put(request.index(), turn);
        return turn.prompt();
    }

    /** Enters the answer into the conversation's ledger. */
    void answered(Plan.Request request, ChatAnswer answer) {
        Conversation conversation = conversations.get(request.conversation());
        Conversation.Turn turn = turns.remove(request.index());
        if (conversation != null && turn != null) {
            conversation.answered(turn, answer.cached().tokens());
        }
    }

    /** Tokens of the shortest system prompt that was used, the template's marks not counted. */
    int shortestSystemPrompt() {
        return systemPrompts.values().stream()
                .mapToInt(text -> tokenizer.encode(text, false).length)
                .min()
                .orElse(0);
    }

    /** Bytes of keys and values a token. */
    long bytesPerToken() {
        return bytesPerToken;
    }

    /** Tokens a block. */
    int blockTokens() {
        return BLOCK_TOKENS;
    }

    /**
     * The desk's handbook, ended so that what its conversations share fills whole blocks: only whole blocks are reused, and a prompt that
     * ends just behind one leaves little to compute. The reminders that fill it up are a part of the text like any other.
     */
    private String systemPrompt(Plan.Desk desk) {
        return systemPrompts.computeIfAbsent(desk.name(), name -> {
            String text = Plan.systemPrompt(desk) + "\n\n13. Reminders.";
            for (int i = 0; i < 4 * BLOCK_TOKENS; i++) {
                if (sharedTokens(text) % BLOCK_TOKENS <= MAX_OVERHANG) {
                    break;
                }
                text += " " + REMINDERS.get(i % REMINDERS.size());
            }
            return text;
        });
    }

    /** Tokens that two different questions under this system prompt have in common. */
    private int sharedTokens(String system) {
        int[] one = template.encode(List.of(ChatMessage.system(system), ChatMessage.user("What?")), true);
        int[] other = template.encode(List.of(ChatMessage.system(system), ChatMessage.user("How?")), true);
        int mismatch = Arrays.mismatch(one, other);
        return mismatch < 0 ? one.length : mismatch;
    }
}
