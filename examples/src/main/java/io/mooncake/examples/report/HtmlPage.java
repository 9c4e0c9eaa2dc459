// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * One self-contained HTML page: style inside, no script, nothing loaded from anywhere. Well-formed as XML too.
 *
 * <p>Threading: one thread.
 */
public final class HtmlPage {
    /** Cells up to this length are kept on one line. */
    private static final int SHORT_CELL = 24;

    private final StringBuilder body = new StringBuilder();
    private final String title;

    public HtmlPage(String title) {
        this.title = title;
    }

    /** Text that is safe inside elements and quoted attributes. */
    public static String escape(String text) {
        return Svg.escape(text);
    }

    /** Markup as it is. */
    public HtmlPage raw(String markup) {
        body.append(markup);
        return this;
    }

    /** A section heading and an optional sentence under it. */
    public HtmlPage section(String heading, String text) {
        body.append("<h2>").append(escape(heading)).append("</h2>\n");
        if (!text.isEmpty()) {
            body.append("<p class=\"lead\">").append(escape(text)).append("</p>\n");
        }
        return this;
    }

    /** A plot in a frame with its legend: pairs of CSS class and text. */
    public HtmlPage figure(String svg, List<List<String>> legend) {
        body.append("<figure>\n<figcaption>");
        for (List<String> entry : legend) {
            body.append("<span><i class=\"")
                    .append(entry.get(0))
                    .append("\"></i>")
                    .append(escape(entry.get(1)))
                    .append("</span>");
        }
        body.append("</figcaption>\n").append(svg).append("</figure>\n");
        return this;
    }

    /** A row of figures with captions: value, caption. */
    public HtmlPage tiles(List<List<String>> tiles) {
        body.append("<div class=\"tiles\">\n");
        for (List<String> tile : tiles) {
            body.append("<div><b>")
                    .append(escape(tile.get(0)))
                    .append("</b><span>")
                    .append(escape(tile.get(1)))
                    .append("</span></div>\n");
        }
        body.append("</div>\n");
        return this;
    }

    /** A table; columns named in {@code numeric} (by index) are aligned to the right. Cells may carry {@code class|text}. */
    public HtmlPage table(List<String> header, List<List<String>> rows, List<Integer> numeric) {
        body.append("<div class=\"scroll\"><table>\n<thead><tr>");
        for (int column = 0; column < header.size(); column++) {
            body.append(numeric.contains(column) ? "<th class=\"n\">" : "<th>")
                    .append(escape(header.get(column)))
                    .append("</th>");
        }
        body.append("</tr></thead>\n<tbody>\n");
        for (List<String> row : rows) {
            body.append("<tr>");
            for (int column = 0; column < row.size(); column++) {
                String text = row.get(column);
                String css = numeric.contains(column) ? "n" : text.length() <= SHORT_CELL ? "short" : "long";
                body.append("<td class=\"")
                        .append(css)
                        .append("\">")
                        .append(cell(text))
                        .append("</td>");
            }
            body.append("</tr>\n");
        }
        body.append("</tbody></table></div>\n");
        return this;
    }

    private static String cell(String text) {
        return switch (text) {
            case "met", "yes", "held" -> "<span class=\"good\">&#10003; " + text + "</span>";
            case "MISSED", "NO", "BROKEN" -> "<span class=\"bad\">&#10007; " + text + "</span>";
            default -> escape(text);
        };
    }

    /** The page. */
    public String end() {
        return "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" + escape(title)
                + "</title>\n<style>\n" + style() + "</style>\n</head>\n<body>\n<main>\n" + body
                + "</main>\n</body>\n</html>\n";
    }

    private static String style() {
        try (InputStream in = HtmlPage.class.getResourceAsStream("/io/mooncake/examples/report/page.css")) {
            if (in == null) {
                throw new IOException("page.css is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
