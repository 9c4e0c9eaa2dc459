// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@link BlockStatesStress} under jcstress in a process of its own: a few seconds, minutes with {@code -Dmooncake.long=true}. */
class BlockStatesStressTest {
    private static final boolean LONG = Boolean.getBoolean("mooncake.long");

    @TempDir
    private Path folder;

    @Test
    void transitions_underJcstress_showNoForbiddenOutcome() throws Exception {
        Path log = folder.resolve("log");
        Process jcstress = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        "org.openjdk.jcstress.Main",
                        "-t",
                        BlockStatesStress.class.getSimpleName(),
                        "-r",
                        folder.toString(),
                        // One set of flags and no pinning of threads: the transitions are the question, not the
                        // compiler.
                        "-jvmArgs",
                        "-Xmx256m",
                        "-af",
                        "NONE",
                        "-sc",
                        "false",
                        "-c",
                        "2",
                        "-f",
                        LONG ? "5" : "1",
                        "-fsm",
                        "1",
                        "-iters",
                        LONG ? "10" : "1",
                        "-time",
                        LONG ? "1000" : "100"))
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            assertThat(jcstress.waitFor(LONG ? 3600 : 300, TimeUnit.SECONDS))
                    .as("ended: " + Files.readString(log))
                    .isTrue();
        } finally {
            jcstress.destroyForcibly();
        }
        String text = Files.readString(log);
        System.out.println(text.substring(Math.max(0, text.length() - 4000)));
        assertThat(text).doesNotContain("FAILED", "ERROR", File.separator + "hs_err");
        assertThat(jcstress.exitValue()).as(text).isZero();
    }
}
