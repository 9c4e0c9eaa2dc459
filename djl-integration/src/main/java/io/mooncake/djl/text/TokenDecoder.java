// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Turns a growing answer into text: a character whose bytes are spread over several tokens is held back until it is whole.
 *
 * <p>For one answer and one thread.
 */
public final class TokenDecoder {
    private static final int LONGEST_CHARACTER_BYTES = 4;

    private final Vocabulary vocabulary;
    private final CharsetDecoder utf8 = StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    private ByteBuffer held = ByteBuffer.allocate(64);

    TokenDecoder(Vocabulary vocabulary) {
        this.vocabulary = vocabulary;
    }

    /** The text that this token completes, maybe empty. Control tokens give none. */
    public String next(int id) {
        return vocabulary.isControl(id) ? "" : append(vocabulary.bytes(id), false);
    }

    /** What is still held back, as U+FFFD; the decoder starts afresh. */
    public String finish() {
        String rest = append(new byte[0], true);
        utf8.reset();
        held.clear();
        return rest;
    }

    private String append(byte[] bytes, boolean end) {
        if (held.remaining() < bytes.length) {
            held = ByteBuffer.allocate(bytes.length + LONGEST_CHARACTER_BYTES).put(held.flip());
        }
        held.put(bytes).flip();
        CharBuffer out = CharBuffer.allocate(held.remaining() + 1);
        utf8.decode(held, out, end);
        if (end) {
            utf8.flush(out);
        }
        held.compact();
        return out.flip().toString();
    }
}
