// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Home;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Mooncake's own engine from PyPI, in a virtual environment in the cache folder; {@code ./mooncake bench transfer --peer mooncake} puts it
 * there.
 *
 * @param python its interpreter
 * @param script the program behind the commands, meaningless where there is a reason
 * @param version of the package
 * @param reason why it can't be used; empty when it can
 */
record PeerProgram(Path python, Path script, String version, String reason) {
    static final String PACKAGE = "mooncake-transfer-engine-non-cuda";

    /** What its processes run with: without the pool each transfer opens a connection of its own. */
    static final Map<String, String> ENVIRONMENT = Map.of("MC_TCP_ENABLE_CONNECTION_POOL", "1");

    private static final String PROBE =
            "import importlib.metadata, mooncake.engine; print(importlib.metadata.version('" + PACKAGE + "'))";

    static PeerProgram find() {
        Path folder = Home.folder("target/bench");
        Path python = Home.cache().resolve("mooncake-peer/bin/python");
        if (!Files.isExecutable(python)) {
            return new PeerProgram(
                    python, folder, "", python + " is missing (expected: " + PACKAGE + " in that environment)");
        }
        try {
            Process probe = new ProcessBuilder(List.of(python.toString(), "-c", PROBE))
                    .redirectErrorStream(true)
                    .start();
            probe.getOutputStream().close();
            List<String> said = new String(probe.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            String last = said.isEmpty() ? "it said nothing" : said.get(said.size() - 1);
            if (!probe.waitFor(30, TimeUnit.SECONDS) || probe.exitValue() != 0) {
                probe.destroyForcibly();
                return new PeerProgram(python, folder, "", PACKAGE + " can't be loaded: " + last);
            }
            return new PeerProgram(python, CeilingProgram.resource(folder, "mooncake_peer.py"), last, "");
        } catch (IOException e) {
            return new PeerProgram(python, folder, "", e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new PeerProgram(python, folder, "", "interrupted");
        }
    }

    /** No peer was asked for. */
    static PeerProgram none() {
        return new PeerProgram(Path.of(""), Path.of(""), "", "not asked for");
    }
}
