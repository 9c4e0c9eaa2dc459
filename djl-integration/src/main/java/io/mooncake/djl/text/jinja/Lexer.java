// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.ArrayList;
import java.util.List;

/**
 * Cuts a template into text, prints and blocks, and these into tokens. White space is treated as chat templates expect: a line
 * break after a block goes, and so does the indentation before one ({@code trim_blocks} and {@code lstrip_blocks}).
 */
final class Lexer {
    enum Kind {
        NAME,
        STRING,
        NUMBER,
        SIGN,
        END
    }

    record Token(Kind kind, String text, int at) {}

    /** A stretch of the template: its text where {@code tokens} is empty. */
    record Piece(boolean print, String text, List<Token> tokens) {}

    private static final List<String> LONG_SIGNS = List.of("==", "!=", "<=", ">=", "//", "**");
    private static final String SIGNS = "+-*/%~|.,:;()[]{}<>=";

    private final String source;
    private final List<Piece> pieces = new ArrayList<>();
    private int at;
    private boolean stripAfter;
    private boolean dropLineBreak;

    private Lexer(String source) {
        this.source = source;
    }

    static List<Piece> pieces(String template) {
        // A single line break at the end belongs to the file, not to the template.
        Lexer lexer = new Lexer(template.endsWith("\n") ? template.substring(0, template.length() - 1) : template);
        lexer.run();
        return lexer.pieces;
    }

    private void run() {
        while (at < source.length()) {
            int open = nextTag(at);
            text(open);
            if (open == source.length()) {
                return;
            }
            char kind = source.charAt(open + 1);
            at = open + 2;
            if (at < source.length() && (source.charAt(at) == '-' || source.charAt(at) == '+')) {
                at++;
            }
            if (kind == '#') {
                comment(open);
            } else {
                pieces.add(new Piece(kind == '{', "", tokens(kind == '{' ? "}}" : "%}")));
                dropLineBreak = kind == '%';
            }
        }
    }

    private int nextTag(int from) {
        for (int i = source.indexOf('{', from); i >= 0 && i + 1 < source.length(); i = source.indexOf('{', i + 1)) {
            if ("{%#".indexOf(source.charAt(i + 1)) >= 0) {
                return i;
            }
        }
        return source.length();
    }

    private void text(int open) {
        int from = at;
        int to = open;
        if (stripAfter) {
            while (from < to && Character.isWhitespace(source.charAt(from))) {
                from++;
            }
        } else if (dropLineBreak && from < to && source.charAt(from) == '\n') {
            from++;
        }
        stripAfter = false;
        dropLineBreak = false;
        if (open < source.length()) {
            char sign = open + 2 < source.length() ? source.charAt(open + 2) : ' ';
            if (sign == '-') {
                while (to > from && Character.isWhitespace(source.charAt(to - 1))) {
                    to--;
                }
            } else if (sign != '+' && source.charAt(open + 1) != '{') {
                to = withoutIndentation(from, to);
            }
        }
        if (from < to) {
            pieces.add(new Piece(false, source.substring(from, to), List.of()));
        }
    }

    private int withoutIndentation(int from, int to) {
        int start = to;
        while (start > 0 && (source.charAt(start - 1) == ' ' || source.charAt(start - 1) == '\t')) {
            start--;
        }
        boolean wholeLine = start == 0 || source.charAt(start - 1) == '\n';
        return wholeLine ? Math.max(from, start) : to;
    }

    private void comment(int open) {
        int close = source.indexOf("#}", at);
        if (close < 0) {
            throw new JinjaException("comment at " + open + " has no end (expected: #})");
        }
        stripAfter = close > at && source.charAt(close - 1) == '-';
        dropLineBreak = true;
        at = close + 2;
    }

    private List<Token> tokens(String close) {
        List<Token> out = new ArrayList<>();
        int open = at - 2;
        int depth = 0;
        while (at < source.length()) {
            char c = source.charAt(at);
            if (Character.isWhitespace(c)) {
                at++;
            } else if (depth == 0 && (source.startsWith(close, at) || source.startsWith("-" + close, at))) {
                stripAfter = c == '-';
                out.add(new Token(Kind.END, close, at));
                at += c == '-' ? 3 : 2;
                return out;
            } else {
                depth += "([{".indexOf(c) >= 0 ? 1 : ")]}".indexOf(c) >= 0 ? -1 : 0;
                out.add(token(c));
            }
        }
        throw new JinjaException("tag at " + open + " has no end (expected: " + close + ")");
    }

    private Token token(char c) {
        int start = at;
        if (c == '\'' || c == '"') {
            return string(c);
        }
        if (Character.isLetter(c) || c == '_') {
            while (at < source.length() && (Character.isLetterOrDigit(source.charAt(at)) || source.charAt(at) == '_')) {
                at++;
            }
            return new Token(Kind.NAME, source.substring(start, at), start);
        }
        if (c >= '0' && c <= '9') {
            while (at < source.length() && isNumberPart(at)) {
                at++;
            }
            return new Token(Kind.NUMBER, source.substring(start, at), start);
        }
        for (String sign : LONG_SIGNS) {
            if (source.startsWith(sign, at)) {
                at += 2;
                return new Token(Kind.SIGN, sign, start);
            }
        }
        if (SIGNS.indexOf(c) < 0) {
            throw new JinjaException("character '" + c + "' at " + at + " (expected: an expression)");
        }
        at++;
        return new Token(Kind.SIGN, String.valueOf(c), start);
    }

    private boolean isNumberPart(int i) {
        char c = source.charAt(i);
        boolean point = c == '.' && i + 1 < source.length() && Character.isDigit(source.charAt(i + 1));
        return (c >= '0' && c <= '9') || point;
    }

    private Token string(char quote) {
        int start = at++;
        StringBuilder out = new StringBuilder();
        while (at < source.length() && source.charAt(at) != quote) {
            char c = source.charAt(at++);
            if (c == '\\' && at < source.length()) {
                char escaped = source.charAt(at++);
                switch (escaped) {
                    case 'n' -> out.append('\n');
                    case 't' -> out.append('\t');
                    case 'r' -> out.append('\r');
                    case '\\', '\'', '"' -> out.append(escaped);
                    default -> out.append('\\').append(escaped);
                }
            } else {
                out.append(c);
            }
        }
        if (at++ >= source.length()) {
            throw new JinjaException("string at " + start + " has no end (expected: " + quote + ")");
        }
        return new Token(Kind.STRING, out.toString(), start);
    }
}
