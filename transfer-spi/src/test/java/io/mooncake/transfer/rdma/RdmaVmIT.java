// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.mooncake.natives.Verbs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the tests that need an RDMA device in a virtual machine that has one: {@code it/rdma-vm}. As root there is no way around it; others
 * skip it where packages are missing, and say so.
 */
final class RdmaVmIT {
    private static final String SCRIPT = Path.of(System.getProperty("mooncake.home", ".."), "it", "rdma-vm", "run.sh")
            .toString();
    private static final boolean ROOT = "root".equals(System.getProperty("user.name"));
    private static final int CANNOT = 3;
    private static final int PREPARE_SECONDS = 600;
    private static final int LEARN_SECONDS = 120;
    private static final int RUN_SECONDS = 1500;
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();
    private static final String OPENS = "--add-opens=java.base/java.nio=ALL-UNNAMED";
    private static final List<String> SMALL_JVM = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
    /** Engines take the first free ports, and a test wants those of an engine that it closed: all tests with engines are in one JVM. */
    private static final List<String> ENGINES = List.of(
            "io.mooncake.transfer.RdmaTransferOnDevice",
            "io.mooncake.transfer.RdmaSafetyCheckOnDevice",
            "io.mooncake.transfer.RdmaPathsOnDevice",
            "io.mooncake.transfer.RdmaLeaseOnDevice",
            "io.mooncake.transfer.RdmaCostOnDevice",
            "io.mooncake.transfer.RdmaLimitOnDevice");

    private static final List<String> OTHERS = List.of(
            VerbsOnDevice.class.getName(),
            "io.mooncake.transfer.RdmaRevocationOnDevice",
            "io.mooncake.transfer.RdmaAbuseOnDevice",
            "io.mooncake.transfer.RdmaDirectReadOnDevice",
            "io.mooncake.transfer.RdmaRailsOnDevice",
            "io.mooncake.transfer.RdmaFaultOnDevice");

    private static final List<String> GPUS =
            List.of("io.mooncake.transfer.GpuDirectFaultOnDevice", "io.mooncake.transfer.GpuRevocationOnDevice");

    private static final String DMA_BUF = "io.mooncake.transfer.GpuDmaBufOnDevice";
    private static final String PEER_MEMORY = "io.mooncake.transfer.GpuPeerMemoryOnDevice";

    /** The direct ways differ from others by where the bytes end; the whole contract over each is left to long runs. */
    private static final List<String> SOME_GPUS = List.of(
            DMA_BUF + "#batchTransferSync_raw_passesThroughNoBufferAndIsMadeVisible",
            DMA_BUF + "#read_leased_isStagedForTheReadersChecksumsAlone",
            DMA_BUF + "#registerGpuMemory_unregistered_leavesNoKeyAndNoDescriptor",
            DMA_BUF + "#randomised_readsWritesAndRecycling_neverGiveWrongBytes",
            PEER_MEMORY + "#batchTransferSync_raw_passesThroughNoBufferAndIsMadeVisible",
            PEER_MEMORY + "#read_leased_isStagedForTheReadersChecksumsAlone",
            PEER_MEMORY + "#registerGpuMemory_unregistered_leavesNoKeyAndNoDescriptor");

    private static final List<String> LONG_GPUS = List.of(DMA_BUF, PEER_MEMORY, "io.mooncake.transfer.GpuWaitOnDevice");

    @TempDir
    Path folder;

    @Test
    void virtualMachine_softRoce_passesAllTestsThatNeedADevice() throws Exception {
        prepare();
        String classPath =
                packed(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
        Path archive = folder.resolve("classes.jsa");
        learn(classPath, archive);
        Path script = folder.resolve("tests.sh");
        Files.writeString(script, script(classPath, archive));
        Path log = folder.resolve("vm.log");
        int rc = run(log, RUN_SECONDS + 30, "bash", SCRIPT, "run", Integer.toString(RUN_SECONDS), script.toString());
        String said = Files.readString(log);
        System.out.println(said);
        assertThat(rc).as("exit code of the virtual machine").isZero();
        assertThat(said).contains("TEST-RC=0");
        // What only long runs do may be left out, nothing else.
        assertThat(said.lines().filter(line -> line.startsWith("SKIPPED ")))
                .allMatch(line -> line.contains("mooncake.long"));
        assertThat(Pattern.compile("(?m)^[1-9][0-9]* passed, 0 failed, [0-9]+ skipped")
                        .matcher(said)
                        .results()
                        .count())
                .as("JVMs in which all tests passed")
                .isEqualTo(2);
    }

    /**
     * Two JVMs at once: engines over the first two devices; and those with GPUs, over the same, then transports without engines, which take
     * down the last two devices only. GPUs bring a library that stands in front of the real one for good: what comes after them in their JVM
     * goes through it, what is in the other one does not.
     */
    private static String script(String classPath, Path archive) {
        String java = String.join(
                " ",
                quoted(JAVA),
                "-Xmx384m -XX:+ErrorFileToStdout -Djava.io.tmpdir=/run",
                OPENS,
                "-Dmooncake.long=" + Boolean.getBoolean("mooncake.long"),
                "-cp " + quoted(classPath),
                DeviceTests.class.getName());
        String lockingNoMoreThanAllowed = "setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock ";
        return String.join(
                "\n",
                "export JAVA_TOOL_OPTIONS='" + String.join(" ", SMALL_JVM) + " -Xshare:auto -XX:SharedArchiveFile="
                        + archive
                        + " -Dmooncake.largeMiB=8 -Dmooncake.blockMiB=1'",
                lockingNoMoreThanAllowed + java + " " + String.join(" ", ENGINES) + " > engines.log 2>&1 &",
                java + " " + String.join(" ", GPUS) + " "
                        + String.join(" ", Boolean.getBoolean("mooncake.long") ? LONG_GPUS : SOME_GPUS) + " "
                        + String.join(" ", OTHERS),
                "others=$?",
                "wait $!",
                "engines=$?",
                "cat engines.log",
                "exit $((engines | others))",
                "");
    }

    /** The class path with its folders packed: an archive of classes takes jars only, and the guest opens few files fast. */
    private String packed(String classPath) throws IOException {
        List<String> entries = new ArrayList<>();
        for (String entry : classPath.split(java.io.File.pathSeparator)) {
            Path root = Path.of(entry);
            if (!Files.isDirectory(root)) {
                entries.add(entry);
                continue;
            }
            Path jar = folder.resolve("classes-" + entries.size() + ".jar");
            try (JarOutputStream to = new JarOutputStream(Files.newOutputStream(jar));
                    Stream<Path> files = Files.walk(root)) {
                to.setLevel(0);
                for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                    to.putNextEntry(new ZipEntry(root.relativize(file).toString()));
                    Files.copy(file, to);
                }
            }
            entries.add(jar.toString());
        }
        return String.join(java.io.File.pathSeparator, entries);
    }

    /**
     * Archives the classes that the tests will load, by running tests here. Emulated, a JVM spends most of its start on parsing classes. Those
     * that need a device fail here, which does not matter; and without an archive the guest is slow, not wrong.
     */
    private void learn(String classPath, Path archive) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(JAVA));
        command.addAll(SMALL_JVM);
        command.addAll(List.of(OPENS, "-XX:ArchiveClassesAtExit=" + archive, "-cp", classPath));
        command.addAll(List.of(DeviceTests.class.getName(), VerbsOnDevice.class.getName()));
        command.addAll(List.of(
                "io.mooncake.transfer.TcpTransferTest#read_leasedElements_arriveVerified",
                "io.mooncake.transfer.TcpTransferTest#submit_canceled_endsSoonAndLeavesTheMemoryAlone"));
        run(folder.resolve("learn.log"), LEARN_SECONDS, command.toArray(String[]::new));
        if (!Files.exists(archive)) {
            System.out.println("No archive of classes: the virtual machine will be slow");
        }
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
        int rc = run(log, PREPARE_SECONDS, "bash", SCRIPT, "prepare");
        String said = Files.readString(log).strip();
        if (rc == CANNOT && (!ROOT || said.contains("expected: Linux x86_64") || said.contains("expected: Debian"))) {
            abort("SKIPPED: NO RDMA WAS TESTED. " + said);
        }
        assertThat(rc).as(said).isZero();
    }

    private static int run(Path log, int seconds, String... command) throws IOException, InterruptedException {
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
