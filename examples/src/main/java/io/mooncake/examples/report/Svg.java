// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import java.util.Locale;

/**
 * Writes one SVG picture. Colours are CSS classes, so that the page decides how they look in light and in dark.
 *
 * <p>Units: user units, one a CSS pixel at full width; y grows downwards. Threading: one thread.
 */
final class Svg {
    private final StringBuilder text = new StringBuilder();

    Svg(int width, int height, String label) {
        text.append(String.format(
                Locale.ROOT,
                "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\" xmlns=\"http://www.w3.org/2000/svg\">%n",
                width,
                height,
                escape(label)));
    }

    Svg rect(String css, double x, double y, double width, double height, String title) {
        return shape(
                String.format(
                        Locale.ROOT,
                        "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1.5\"",
                        css,
                        x,
                        y,
                        Math.max(0, width),
                        Math.max(0, height)),
                "rect",
                title);
    }

    Svg circle(String css, double x, double y, double radius, String title) {
        return shape(
                String.format(
                        Locale.ROOT, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", css, x, y, radius),
                "circle",
                title);
    }

    Svg line(String css, double x1, double y1, double x2, double y2) {
        text.append(String.format(
                Locale.ROOT,
                "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>%n",
                css,
                x1,
                y1,
                x2,
                y2));
        return this;
    }

    /** Text whose {@code anchor} (start, middle, end) is at x, its base line at y. */
    Svg label(String css, double x, double y, String anchor, String value) {
        text.append(String.format(
                Locale.ROOT,
                "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n",
                css,
                x,
                y,
                anchor,
                escape(value)));
        return this;
    }

    String end() {
        return text.append("</svg>\n").toString();
    }

    private Svg shape(String open, String tag, String title) {
        text.append(open);
        if (title.isEmpty()) {
            text.append("/>\n");
        } else {
            text.append("><title>")
                    .append(escape(title))
                    .append("</title></")
                    .append(tag)
                    .append(">\n");
        }
        return this;
    }

    /** Text that is safe in XML content and in quoted attributes; characters that XML forbids become spaces. */
    static String escape(String value) {
        StringBuilder safe = new StringBuilder(value.length() + 16);
        value.codePoints().forEach(c -> {
            switch (c) {
                case '&' -> safe.append("&amp;");
                case '<' -> safe.append("&lt;");
                case '>' -> safe.append("&gt;");
                case '"' -> safe.append("&quot;");
                case '\'' -> safe.append("&#39;");
                default -> safe.appendCodePoint(allowed(c) ? c : ' ');
            }
        });
        return safe.toString();
    }

    private static boolean allowed(int c) {
        return c == '\t' || c == '\n' || (c >= 0x20 && c < 0xD800) || (c >= 0xE000 && c < 0xFFFE) || c > 0xFFFF;
    }
}
