// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import java.util.ArrayList;
import java.util.List;

/** Rows in aligned columns. Columns whose cells are all numbers are aligned to the right. */
public final class TextTable {
    private final List<String> header;
    private final List<List<String>> rows = new ArrayList<>();

    public TextTable(List<String> header) {
        this.header = List.copyOf(header);
    }

    /** Adds a row of as many cells as the header has. */
    public TextTable row(List<String> cells) {
        if (cells.size() != header.size()) {
            throw new IllegalArgumentException("row: " + cells.size() + " cells (expected: " + header.size() + ")");
        }
        rows.add(List.copyOf(cells));
        return this;
    }

    /** The lines: header, rule, rows. */
    public List<String> lines() {
        int[] widths = new int[header.size()];
        boolean[] numbers = new boolean[header.size()];
        for (int column = 0; column < widths.length; column++) {
            widths[column] = header.get(column).length();
            numbers[column] = !rows.isEmpty();
            for (List<String> row : rows) {
                widths[column] = Math.max(widths[column], row.get(column).length());
                numbers[column] &= row.get(column).matches("[-+]?[0-9][0-9.,]*( ?(%|s|ms|x|t/s|[KMGT]?i?B))?|-|");
            }
        }
        List<String> lines = new ArrayList<>();
        lines.add(format(header, widths, numbers));
        StringBuilder rule = new StringBuilder();
        for (int width : widths) {
            rule.append(rule.isEmpty() ? "" : "  ").append("-".repeat(width));
        }
        lines.add(rule.toString());
        rows.forEach(row -> lines.add(format(row, widths, numbers)));
        return lines;
    }

    private static String format(List<String> cells, int[] widths, boolean[] numbers) {
        StringBuilder line = new StringBuilder();
        for (int column = 0; column < widths.length; column++) {
            String cell = cells.get(column);
            String space = " ".repeat(widths[column] - cell.length());
            line.append(column == 0 ? "" : "  ").append(numbers[column] ? space + cell : cell + space);
        }
        return line.toString().stripTrailing();
    }
}
