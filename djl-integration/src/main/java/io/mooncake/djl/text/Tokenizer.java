// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import io.mooncake.djl.gguf.GgufMetadata;

/**
 * Text to token ids and back. Ids are those of the model's vocabulary, from 0.
 *
 * <p>Markers are the control tokens by which a chat template frames its turns, such as {@code <|im_start|>}. Their text becomes
 * their id only where the caller says that the text may be trusted; elsewhere it is ordinary text, so that a user cannot write a
 * turn of somebody else.
 *
 * <p>Immutable and safe for all threads. Unpaired surrogates are read as U+FFFD.
 */
public interface Tokenizer {
    /** The tokenizer that the metadata describes; refuses the model where it names a kind that we do not know. */
    static Tokenizer of(GgufMetadata metadata) {
        return GgufTokenizer.of(metadata);
    }

    /** A whole prompt: starts with the BOS where the metadata asks for one; markers in {@code text} are ordinary text. */
    int[] encode(String text);

    /** A piece of text without BOS or EOS; {@code parseMarkers} says whether markers in it count as such. */
    int[] encode(String text, boolean parseMarkers);

    /**
     * A rendered template without BOS: only markers that lie wholly outside of the given stretches count as such.
     *
     * @param untrusted starts and ends (exclusive) of stretches in {@code text}, in order and apart
     */
    int[] encode(String text, int[] untrusted);

    /**
     * The same for text that follows the tokens {@code before}: SentencePiece puts a blank before text at the start or behind a marker, and
     * nowhere else.
     */
    int[] encodeAfter(int[] before, String text, int[] untrusted);

    /** The text of these tokens; control tokens are left out, and bytes that are no UTF-8 become U+FFFD. */
    String decode(int... ids);

    /** The text of these tokens, control tokens written out. */
    String decodeWithMarkers(int... ids);

    /** Decodes an answer as it grows. */
    TokenDecoder newDecoder();

    /** Number of ids. */
    int vocabularySize();

    /** The id that starts a text, or -1 where the model has none. */
    int bosId();

    /** The id that ends a text, or -1 where the model has none. */
    int eosId();

    /** Whether a prompt starts with the BOS. */
    boolean addsBos();

    /** Whether that id ends an answer: the EOS or another end-of-turn marker. */
    boolean endsAnswer(int id);

    /** Whether that id is a control token, which {@link #decode} leaves out. */
    boolean isControl(int id);

    /** SHA-256 in hex over all that decides which ids a text gets: kind, vocabulary, merges, scores, splitting, BOS. */
    String digest();
}
