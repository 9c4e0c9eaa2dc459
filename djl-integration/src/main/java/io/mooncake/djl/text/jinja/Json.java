// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Writes values as JSON the way Python's json.dumps does, with its blanks. */
final class Json {
    private static final int MAX_DEPTH = 64;

    private final StringBuilder out = new StringBuilder();
    private final int indent;
    private boolean untrusted;

    private Json(int indent) {
        this.indent = indent;
    }

    /** On one line where {@code indent} is negative. Untrusted as a whole if any string in it is. */
    static MarkedText write(Object value, int indent) {
        Json json = new Json(indent);
        json.value(value, 0);
        String text = json.out.toString();
        return json.untrusted ? MarkedText.untrusted(text) : MarkedText.trusted(text);
    }

    private void value(Object value, int depth) {
        if (depth > MAX_DEPTH) {
            throw new JinjaException("values nested deeper than " + MAX_DEPTH);
        }
        if (value instanceof MarkedText text) {
            untrusted |= text.untrusted().length > 0;
            string(text.text());
        } else if (value instanceof List<?> list) {
            list(list, depth);
        } else if (value instanceof Map<?, ?> map) {
            map(map, depth);
        } else if (value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else if (value == Nothing.NONE) {
            out.append("null");
        } else {
            throw new JinjaException(Values.kind(value) + " (expected: a value that JSON can hold)");
        }
    }

    private void list(List<?> list, int depth) {
        out.append('[');
        Iterator<?> items = list.iterator();
        while (items.hasNext()) {
            line(depth + 1);
            value(items.next(), depth + 1);
            separator(items.hasNext());
        }
        if (!list.isEmpty()) {
            line(depth);
        }
        out.append(']');
    }

    private void map(Map<?, ?> map, int depth) {
        out.append('{');
        Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry<?, ?> entry = entries.next();
            line(depth + 1);
            string((String) entry.getKey());
            out.append(": ");
            value(entry.getValue(), depth + 1);
            separator(entries.hasNext());
        }
        if (!map.isEmpty()) {
            line(depth);
        }
        out.append('}');
    }

    private void separator(boolean more) {
        if (more) {
            out.append(indent < 0 ? ", " : ",");
        }
    }

    private void line(int depth) {
        if (indent >= 0) {
            out.append('\n').append(" ".repeat(indent * depth));
        }
    }

    private void string(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ') {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
        Scope.checkLength(out.length());
    }
}
