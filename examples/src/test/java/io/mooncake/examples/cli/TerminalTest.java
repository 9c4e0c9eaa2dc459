// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

final class TerminalTest {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);

    @Test
    void progress_noTerminal_isPlainLines() {
        Terminal terminal = new Terminal(out, false);
        terminal.progress("requests", 1, 4, "harbour-1");
        terminal.line("done");
        terminal.endProgress();
        assertThat(bytes.toString(StandardCharsets.UTF_8).lines()).containsExactly("requests 1/4: harbour-1", "done");
    }

    @Test
    void progress_terminal_redrawsTheBarUnderTheText() {
        Terminal terminal = new Terminal(out, true);
        terminal.progress("requests", 2, 4, "");
        terminal.line("a line");
        String text = bytes.toString(StandardCharsets.UTF_8);
        assertThat(text).contains("[##############--------------] 2/4 requests");
        assertThat(text.indexOf("a line")).isBetween(text.indexOf("2/4"), text.lastIndexOf("2/4"));
    }

    @Test
    void bar_edges_stayInside() {
        assertThat(Terminal.bar(0, 0)).isEqualTo("[" + "-".repeat(28) + "]");
        assertThat(Terminal.bar(9, 4)).isEqualTo("[" + "#".repeat(28) + "]");
    }

    @Test
    void table_numbers_areAlignedRight() {
        List<String> lines = new TextTable(List.of("name", "n"))
                .row(List.of("a", "7"))
                .row(List.of("bcdef", "1234"))
                .lines();
        assertThat(lines).containsExactly("name      n", "-----  ----", "a         7", "bcdef  1234");
    }

    @Test
    void table_rowOfAnotherWidth_isRefused() {
        assertThatThrownBy(() -> new TextTable(List.of("a")).row(List.of("1", "2")))
                .hasMessageContaining("expected: 1");
    }
}
