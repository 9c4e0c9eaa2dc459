// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MainTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    @Test
    void run_unknownBenchmark_exitsTwoWithTheList() {
        assertThat(run("e3e")).isEqualTo(2);
        assertThat(err.toString())
                .contains(
                        "Unknown benchmark: e3e (expected: e2e, feed, ignite-messages, index, memory, mirror, policy, pool, prefix, ssd, transfer); did you mean e2e?");
    }

    @Test
    void run_unknownOption_exitsTwoAndNamesTheNearest() {
        assertThat(run("e2e", "--jason", "x")).isEqualTo(2);
        assertThat(err.toString()).contains("--jason").contains("did you mean --json?");
    }

    @Test
    void run_noName_listsTheBenchmarks() {
        assertThat(run()).isZero();
        assertThat(out.toString()).contains("e2e");
    }

    @Test
    void run_wrongTransportPeerOrSize_isRefusedWithWhatThereIs() {
        assertThat(run("transfer", "--transport", "tcp,shn")).isEqualTo(1);
        assertThat(err.toString()).contains("--transport: shn (expected: tcp, shm, rdma); did you mean shm?");
        assertThat(run("transfer", "--peer", "nixl")).isEqualTo(1);
        assertThat(err.toString()).contains("--peer: nixl (expected: mooncake)");
        assertThat(run("transfer", "--sizes", "8,100")).isEqualTo(1);
        assertThat(err.toString()).contains("--sizes: 100 (expected: powers of two, 8..64MiB)");
    }

    @Test
    void run_missingModel_isRefusedByName(@TempDir Path folder) {
        assertThat(run("e2e", "--model", folder.resolve("none.gguf").toString()))
                .isEqualTo(1);
        assertThat(err.toString()).contains("none.gguf").contains("expected");
    }

    @Test
    void run_runsOutOfRange_isRefused(@TempDir Path folder) throws Exception {
        Path model = Files.createFile(folder.resolve("m.gguf"));
        assertThat(run("e2e", "--runs", "4", "--model", model.toString())).isEqualTo(1);
        assertThat(err.toString()).contains("--runs: 4 (expected: 5..1000)");
    }
}
