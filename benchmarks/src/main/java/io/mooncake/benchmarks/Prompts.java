// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks;

import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.text.Tokenizer;
import io.mooncake.examples.demo.Handbook;
import java.nio.file.Path;
import java.util.Arrays;

/** Prompts of exact lengths from plain English text. No two fresh ones share a block: each begins with a number of its own. */
final class Prompts {
    private final Tokenizer tokenizer;
    private final int[] text;
    private int count;

    private Prompts(Tokenizer tokenizer, int[] text) {
        this.tokenizer = tokenizer;
        this.text = text;
    }

    /** Prompts in the vocabulary of {@code model}. */
    static Prompts open(Path model) {
        try (GgufFile file = GgufFile.open(model)) {
            Tokenizer tokenizer = Tokenizer.of(file.metadata());
            return new Prompts(tokenizer, tokenizer.encode(Handbook.text("bench", "nowhere"), false));
        }
    }

    /** The next prompt, {@code tokens} long. */
    int[] fresh(int tokens) {
        count++;
        int[] start = tokenizer.encode("Visit number " + count * 7_919 + " of this bench.\n");
        return Arrays.copyOf(concat(start, repeated(tokens)), tokens);
    }

    /** The first {@code shared} tokens of {@code prompt}, then {@code rest} others. */
    int[] branch(int[] prompt, int shared, int rest) {
        int[] question = tokenizer.encode(
                "\nAnother guest asks for the price of a tandem, and when the desk opens in winter. ", false);
        int[] tail = concat(question, repeated(rest));
        return Arrays.copyOf(concat(Arrays.copyOf(prompt, shared), tail), shared + rest);
    }

    /** The text again and again, at least {@code tokens} long. */
    private int[] repeated(int tokens) {
        int[] all = text;
        while (all.length < tokens) {
            all = concat(all, text);
        }
        return all;
    }

    private static int[] concat(int[] first, int[] second) {
        int[] all = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        return all;
    }
}
