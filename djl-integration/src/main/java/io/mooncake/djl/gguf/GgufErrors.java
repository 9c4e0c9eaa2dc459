// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import io.mooncake.base.MooncakeException;
import java.nio.file.Path;

/** Builds the refusals of this package: path, place, what was found, what was expected. */
final class GgufErrors {
    private static final int LONGEST_QUOTE = 80;

    private GgufErrors() {}

    static MooncakeException refused(Path path, String place, Object found, String expected) {
        return new MooncakeException(
                MooncakeException.Code.MODEL_REFUSED,
                path + ": " + place + ": " + found + " (expected: " + expected + ")");
    }

    /** {@link #printable} in quotes. */
    static String quote(String text) {
        return '"' + printable(text) + '"';
    }

    /** A string of the file, cut and with control characters made visible, so that a message stays one readable line. */
    static String printable(String text) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < text.length() && i < LONGEST_QUOTE; i++) {
            char c = text.charAt(i);
            if (c < ' ' || (c >= 0x7f && c < 0xa0)) {
                out.append(String.format("\\x%02x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append(text.length() > LONGEST_QUOTE ? "..." : "").toString();
    }
}
