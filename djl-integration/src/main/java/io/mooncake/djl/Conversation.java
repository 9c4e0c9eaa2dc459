// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.djl.text.ChatMessage;
import io.mooncake.djl.text.ChatTemplate;
import io.mooncake.djl.text.Tokenizer;
import io.mooncake.djl.text.jinja.MarkedText;
import io.mooncake.memory.RequestHints;
import java.util.ArrayList;
import java.util.List;

/**
 * A conversation's ledger of token ids. A next turn continues the ids that were fed and generated; only what is new in the text is
 * tokenised. Text that was generated token by token often tokenises to other ids, and reuse would end there.
 *
 * <p>Where the newly rendered conversation does not continue the ledger's text (an earlier message was changed, or the template writes an
 * answer in another way than the model did), the whole is tokenised anew and the turn says so: reuse then ends with the reason RETOKENISED.
 *
 * <p>Threading: one thread at a time.
 */
public final class Conversation {
    private final Tokenizer tokenizer;
    private final ChatTemplate template;
    private final List<ChatMessage> messages = new ArrayList<>();
    private int[] ledger = {};
    private String ledgerText = "";
    private int retokenised;

    public Conversation(Tokenizer tokenizer, ChatTemplate template) {
        this.tokenizer = tokenizer;
        this.template = template;
    }

    /**
     * What the model is to be fed.
     *
     * @param prompt token ids of the whole conversation, the start of the answer included
     * @param retokenised whether they diverge from the ledger
     * @param text the rendered conversation
     * @param number of the turn, 0 for the first
     */
    public record Turn(int[] prompt, boolean retokenised, String text, int number) {
        /** The prompt with what else is known of it. */
        public GenerationRequest request() {
            return GenerationRequest.of(prompt).retokenised(retokenised).hints(new RequestHints(number, 1));
        }
    }

    /** The next turn after one more message of a user. */
    public Turn ask(String question) {
        messages.add(ChatMessage.user(question));
        return next(List.copyOf(messages));
    }

    /** Sets what the system says; before the first turn. */
    public Conversation system(String text) {
        messages.add(ChatMessage.system(text));
        return this;
    }

    /** The next turn of a client that sends all messages each time. */
    public Turn next(List<ChatMessage> all) {
        messages.clear();
        messages.addAll(all);
        MarkedText rendered = template.render(all, true);
        String text = rendered.text();
        int number = (int) all.stream()
                .filter(message -> message.role().equals("assistant"))
                .count();
        if (ledger.length > 0 && text.startsWith(ledgerText)) {
            int from = ledgerText.length();
            int[] added = tokenizer.encodeAfter(ledger, text.substring(from), shifted(rendered.untrusted(), from));
            return new Turn(join(ledger, added), false, text, number);
        }
        boolean diverged = ledger.length > 0;
        retokenised += diverged ? 1 : 0;
        return new Turn(template.encode(all, true), diverged, text, number);
    }

    /**
     * Enters an answer into the ledger.
     *
     * @param turn what was fed
     * @param generated all generated ids, the one that ended the answer included
     * @return the answer's text
     */
    public String answered(Turn turn, int[] generated) {
        ledger = join(turn.prompt(), generated);
        ledgerText = turn.text() + tokenizer.decodeWithMarkers(generated);
        String answer = tokenizer.decode(generated);
        messages.add(ChatMessage.assistant(answer));
        return answer;
    }

    /** The ids fed and generated so far. */
    public int[] ledger() {
        return ledger.clone();
    }

    /** Turns whose text diverged from the ledger. */
    public int retokenisedTurns() {
        return retokenised;
    }

    /** Stretches [start, end) that lie behind {@code from}, counted from there. */
    private static int[] shifted(int[] stretches, int from) {
        List<Integer> kept = new ArrayList<>();
        for (int i = 0; i + 1 < stretches.length; i += 2) {
            if (stretches[i + 1] > from) {
                kept.add(Math.max(0, stretches[i] - from));
                kept.add(stretches[i + 1] - from);
            }
        }
        return kept.stream().mapToInt(Integer::intValue).toArray();
    }

    private static int[] join(int[] first, int[] second) {
        int[] all = java.util.Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        return all;
    }
}
