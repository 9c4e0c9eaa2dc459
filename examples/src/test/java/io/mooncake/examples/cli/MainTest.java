// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class MainTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    @ParameterizedTest
    @CsvSource({"nod,node", "dmeo,demo", "slq,sql"})
    void run_unknownCommand_exitsTwoAndNamesTheNearest(String typed, String nearest) {
        assertThat(run(typed)).isEqualTo(2);
        assertThat(err.toString()).contains("Unknown command").contains(typed).contains("did you mean " + nearest);
        assertThat(out.toString()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"node,--confg,--config", "demo,--jsn,--json", "sql,--prot,--port", "demo,--reqests=30,--requests"})
    void run_unknownOption_exitsTwoAndNamesTheNearest(String command, String typed, String nearest) {
        assertThat(run(command, typed)).isEqualTo(2);
        assertThat(err.toString()).contains("Unknown option").contains("did you mean " + nearest + "?");
    }

    @Test
    void run_noCommand_exitsTwoAndListsTheCommands() {
        assertThat(run()).isEqualTo(2);
        assertThat(err.toString()).contains("node").contains("demo").contains("sql");
    }

    @Test
    void run_optionWithoutItsValue_exitsTwo() {
        assertThat(run("sql", "--port", "many")).isEqualTo(2);
        assertThat(err.toString()).contains("--port").contains("many");
    }

    @Test
    void run_help_exitsZero() {
        assertThat(run("help")).isZero();
        assertThat(out.toString()).contains("demo").contains("node").contains("sql");
    }

    @Test
    void run_demoWithTooFewRequests_isRefusedWithTheRange(@TempDir Path folder) throws Exception {
        Path model = Files.createFile(folder.resolve("m.gguf"));
        assertThat(run("demo", "--requests", "3", "--model", model.toString())).isEqualTo(1);
        assertThat(err.toString()).contains("--requests: 3 (expected: 24..400)");
    }

    @Test
    void run_demoWithMissingModel_namesTheFile() {
        assertThat(run("demo", "--model", "/nowhere/model.gguf")).isEqualTo(1);
        assertThat(err.toString()).contains("/nowhere/model.gguf").contains("expected");
    }

    @Test
    void run_sqlWhereNothingListens_saysSo() throws Exception {
        int port;
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        assertThat(run("sql", "--port", Integer.toString(port), "SELECT 1")).isEqualTo(1);
        assertThat(err.toString()).contains("127.0.0.1:" + port).contains("READY");
    }
}
