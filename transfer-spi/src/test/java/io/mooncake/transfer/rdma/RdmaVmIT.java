// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.mooncake.natives.Verbs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the tests that need an RDMA device in a virtual machine that has one: {@code it/rdma-vm}. As root there is no way around it; others
 * skip it where packages are missing, and say so.
 */
final class RdmaVmIT {
    private static final Path SCRIPT = Path.of(System.getProperty("mooncake.home", ".."), "it", "rdma-vm", "run.sh");
    private static final boolean ROOT = "root".equals(System.getProperty("user.name"));
    private static final int CANNOT = 3;
    private static final int PREPARE_SECONDS = 600;
    private static final int RUN_SECONDS = 900;

    @TempDir
    Path folder;

    @Test
    void virtualMachine_softRoce_passesAllTestsThatNeedADevice() throws Exception {
        prepare();
        Path script = folder.resolve("tests.sh");
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        Files.writeString(
                script,
                String.join(
                        " ",
                        "JAVA_TOOL_OPTIONS='-Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC' exec",
                        quoted(Path.of(System.getProperty("java.home"), "bin", "java")
                                .toString()),
                        "-Xmx512m -XX:+ErrorFileToStdout -Djava.io.tmpdir=/run",
                        "--add-opens=java.base/java.nio=ALL-UNNAMED",
                        "-Dmooncake.long=" + Boolean.getBoolean("mooncake.long"),
                        "-cp " + quoted(classPath),
                        "org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors",
                        "--details=verbose --include-classname='.*' --select-class=" + VerbsOnDevice.class.getName(),
                        "--select-class=io.mooncake.transfer.RdmaTransferOnDevice",
                        "--select-class=io.mooncake.transfer.RdmaSafetyCheckOnDevice",
                        "--select-class=io.mooncake.transfer.RdmaRevocationOnDevice",
                        "--select-class=io.mooncake.transfer.RdmaPathsOnDevice",
                        "--select-class=io.mooncake.transfer.RdmaFaultOnDevice"));
        Path log = folder.resolve("vm.log");
        int rc = run(log, RUN_SECONDS + 30, "run", Integer.toString(RUN_SECONDS), script.toString());
        String said = Files.readString(log);
        System.out.println(said);
        assertThat(rc).as("exit code of the virtual machine").isZero();
        assertThat(said)
                .contains("TEST-RC=0")
                .containsPattern("\\[ +[1-9][0-9]* tests successful")
                .contains("[         0 tests skipped");
    }

    private void prepare() throws IOException, InterruptedException {
        // What the library lacks on this machine does not matter, it is installed for the guest; the bridge must be
        // whole.
        String unavailable = Verbs.unavailable().orElse("");
        boolean whole = !unavailable.startsWith("native bridge") && !unavailable.contains("built without");
        if (!whole && !ROOT) {
            abort("SKIPPED: NO RDMA WAS TESTED. " + unavailable);
        }
        assertThat(whole).as(unavailable).isTrue();
        Path log = folder.resolve("prepare.log");
        int rc = run(log, PREPARE_SECONDS, "prepare");
        String said = Files.readString(log).strip();
        if (rc == CANNOT && (!ROOT || said.contains("expected: Linux x86_64") || said.contains("expected: Debian"))) {
            abort("SKIPPED: NO RDMA WAS TESTED. " + said);
        }
        assertThat(rc).as(said).isZero();
    }

    private static int run(Path log, int seconds, String... arguments) throws IOException, InterruptedException {
        List<String> command = new java.util.ArrayList<>(List.of("bash", SCRIPT.toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            throw new AssertionError("no end after " + seconds + " s: " + Files.readString(log));
        }
        return process.exitValue();
    }

    private static String quoted(String text) {
        return "'" + text.replace("'", "'\\''") + "'";
    }
}
