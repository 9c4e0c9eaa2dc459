// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import java.util.Arrays;

/**
 * The printable characters by which byte-level BPE vocabularies write bytes: printable Latin-1 stands for itself, the other bytes
 * for U+0100 and on, in order.
 *
 * <p>Source: bytes_to_unicode of GPT-2's encoder.
 */
public final class ByteLevel {
    private static final char[] TO_CHAR = new char[256];
    private static final short[] TO_BYTE = new short[512];

    static {
        Arrays.fill(TO_BYTE, (short) -1);
        int next = 256;
        for (int b = 0; b < 256; b++) {
            boolean printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
            TO_CHAR[b] = (char) (printable ? b : next++);
            TO_BYTE[TO_CHAR[b]] = (short) b;
        }
    }

    private ByteLevel() {}

    /** The character of a byte 0..255. */
    public static char toChar(int b) {
        return TO_CHAR[b];
    }

    /** The byte 0..255 of a character, or -1 where it stands for none. */
    public static int toByte(char c) {
        return c < TO_BYTE.length ? TO_BYTE[c] : -1;
    }
}
