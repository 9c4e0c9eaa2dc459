// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A string that knows which stretches of it came from outside of the template. Cutting and joining keep the borders exactly; what
 * rewrites characters makes the whole result untrusted if any of it was.
 *
 * <p>Immutable. Two are equal when their characters are.
 */
public final class MarkedText {
    private final String text;
    /** Starts and ends (exclusive) of untrusted stretches, rising, apart, none empty. */
    private final int[] untrusted;

    private MarkedText(String text, int[] untrusted) {
        this.text = text;
        this.untrusted = untrusted;
    }

    /** Text of the template's author. */
    public static MarkedText trusted(String text) {
        return new MarkedText(text, new int[0]);
    }

    /** Text from elsewhere. */
    public static MarkedText untrusted(String text) {
        return new MarkedText(text, text.isEmpty() ? new int[0] : new int[] {0, text.length()});
    }

    /** The characters. */
    public String text() {
        return text;
    }

    /** Starts and ends (exclusive) of the untrusted stretches, in order and apart. */
    public int[] untrusted() {
        return untrusted.clone();
    }

    /** The characters from {@code from} to {@code to} (exclusive). */
    MarkedText substring(int from, int to) {
        int[] out = new int[untrusted.length];
        int size = 0;
        for (int i = 0; i < untrusted.length; i += 2) {
            int start = Math.max(untrusted[i], from);
            int end = Math.min(untrusted[i + 1], to);
            if (start < end) {
                out[size++] = start - from;
                out[size++] = end - from;
            }
        }
        return new MarkedText(text.substring(from, to), Arrays.copyOf(out, size));
    }

    /** This text rewritten as {@code rewritten}: untrusted as a whole if any of this is. */
    MarkedText rewrite(String rewritten) {
        return untrusted.length == 0 ? trusted(rewritten) : untrusted(rewritten);
    }

    MarkedText plus(MarkedText more) {
        return new Builder().append(this).append(more).build();
    }

    /** Without the given characters at the start and the end, as asked. */
    MarkedText strip(boolean start, boolean end, String characters) {
        int from = 0;
        int to = text.length();
        while (start && from < to && isIn(text.charAt(from), characters)) {
            from++;
        }
        while (end && to > from && isIn(text.charAt(to - 1), characters)) {
            to--;
        }
        return substring(from, to);
    }

    private static boolean isIn(char c, String characters) {
        return characters.isEmpty() ? Character.isWhitespace(c) || c == '\u00a0' : characters.indexOf(c) >= 0;
    }

    /** Split at a separator, or at white space where it is empty; at most {@code limit} times unless that is negative. */
    List<Object> split(String separator, int limit) {
        List<Object> out = new ArrayList<>();
        int from = 0;
        if (separator.isEmpty()) {
            for (int at = 0; at <= text.length(); at++) {
                if (at == text.length() || isIn(text.charAt(at), "")) {
                    if (at > from) {
                        out.add(substring(from, at));
                    }
                    from = at + 1;
                }
            }
            return out;
        }
        for (int at = text.indexOf(separator); at >= 0 && limit != 0; at = text.indexOf(separator, from), limit--) {
            out.add(substring(from, at));
            from = at + separator.length();
        }
        out.add(substring(from, text.length()));
        return out;
    }

    /** Every {@code from} put as {@code to}. */
    MarkedText replace(MarkedText from, MarkedText to) {
        if (from.text.isEmpty()) {
            return this;
        }
        Builder out = new Builder();
        List<Object> parts = split(from.text, -1);
        for (int i = 0; i < parts.size(); i++) {
            if (i > 0) {
                out.append(to);
            }
            out.append((MarkedText) parts.get(i));
        }
        return out.build();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof MarkedText marked && marked.text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }

    /** Joins texts. */
    static final class Builder {
        private final StringBuilder text = new StringBuilder();
        private int[] untrusted = new int[8];
        private int size;

        Builder append(MarkedText more) {
            int base = text.length();
            text.append(more.text);
            for (int i = 0; i < more.untrusted.length; i += 2) {
                add(base + more.untrusted[i], base + more.untrusted[i + 1]);
            }
            return this;
        }

        private void add(int from, int to) {
            if (size > 0 && untrusted[size - 1] == from) {
                untrusted[size - 1] = to;
                return;
            }
            if (size == untrusted.length) {
                untrusted = Arrays.copyOf(untrusted, 2 * size);
            }
            untrusted[size++] = from;
            untrusted[size++] = to;
        }

        int length() {
            return text.length();
        }

        MarkedText build() {
            return new MarkedText(text.toString(), Arrays.copyOf(untrusted, size));
        }
    }
}
