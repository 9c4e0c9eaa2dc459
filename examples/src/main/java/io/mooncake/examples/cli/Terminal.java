// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import java.io.PrintStream;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a long command writes while it works. On a terminal one status line is drawn over and over under the text; elsewhere each step is
 * one plain line, so that logs stay readable.
 *
 * <p>Threading: safe for all threads.
 */
public final class Terminal {
    private static final int BAR_CELLS = 28;
    private static final String CLEAR_LINE = "\r\u001b[2K";

    private final PrintStream out;
    private final boolean interactive;
    private @Nullable String status;

    /**
     * @param out where to write
     * @param interactive whether status lines may be redrawn
     */
    public Terminal(PrintStream out, boolean interactive) {
        this.out = out;
        this.interactive = interactive;
    }

    /** The process's own standard output. */
    public static Terminal standard() {
        boolean dumb = "dumb".equals(System.getenv("TERM"));
        return new Terminal(System.out, System.console() != null && !dumb);
    }

    /** Writes a line that stays. */
    public synchronized void line(String text) {
        if (interactive && status != null) {
            out.print(CLEAR_LINE);
        }
        out.println(text);
        redraw();
    }

    /** Writes a formatted line that stays. */
    public void line(String format, Object... values) {
        line(String.format(Locale.ROOT, format, values));
    }

    /** A heading. */
    public void heading(String text) {
        line("");
        line(interactive ? "\u001b[1m" + text + "\u001b[0m" : text);
    }

    /** Shows progress; on no terminal the text is a line of its own. */
    public synchronized void progress(String label, int done, int total, String detail) {
        if (interactive) {
            status =
                    bar(done, total) + " " + done + "/" + total + " " + label + (detail.isEmpty() ? "" : "  " + detail);
            redraw();
        } else {
            out.println(label + " " + done + "/" + total + (detail.isEmpty() ? "" : ": " + detail));
            out.flush();
        }
    }

    /** Takes the status line away. */
    public synchronized void endProgress() {
        if (interactive && status != null) {
            out.print(CLEAR_LINE);
            out.flush();
        }
        status = null;
    }

    private void redraw() {
        if (interactive && status != null) {
            out.print(CLEAR_LINE + status);
        }
        out.flush();
    }

    static String bar(int done, int total) {
        int filled = total <= 0 ? 0 : Math.min(BAR_CELLS, BAR_CELLS * done / total);
        return "[" + "#".repeat(filled) + "-".repeat(BAR_CELLS - filled) + "]";
    }
}
