// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.memory.Seeds;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Power cuts of a machine: a virtual one ({@code it/rdma-vm}) writes to a store on ext4 until its qemu is killed, and boots again with what its
 * disk has then.
 *
 * <p>A killed qemu alone would lose too little: what the guest had given to its disk is in this machine's memory and stays there. So the disk
 * notes all writes and flushes, and is made anew after each kill as a disk with a cache may be: {@link WriteLog}. What the guest says goes to a
 * file of this machine's, and is there when the guest's write returns: nothing that it relies on is lost with it.
 *
 * <p>As root there is no way around it; others skip it where packages are missing, and say so.
 */
final class SsdMachineCutIT {
    private static final String SCRIPT = Path.of(System.getProperty("mooncake.home", ".."), "it", "rdma-vm", "run.sh")
            .toString();
    private static final boolean ROOT = "root".equals(System.getProperty("user.name"));
    private static final int CANNOT = 3;
    private static final int PREPARE_SECONDS = 600;
    private static final int BOOT_SECONDS = 300;
    private static final long DISK_BYTES = 64L << 20;

    @TempDir
    Path folder;

    private Path disk;
    private int unflushed;

    @Test
    void powerCut_ofTheMachineUnderLoad_losesNothingThatWasSynced() throws Exception {
        prepare();
        SplittableRandom random = Seeds.random("power cuts of the machine");
        int cuts = Seeds.count(2, 20);
        Promises promises = new Promises();
        for (int life = 0; life <= cuts; life++) {
            // After the last cut the machine only says what it found.
            List<String> lines = life("recover", life, life < cuts ? 1 + random.nextInt(60) : 0, random);
            assertThat(lines).as("life %d", life).noneMatch(line -> line.startsWith("BAD"));
            List<Long> found = found(lines);
            assertThat(found).as("life %d", life).containsAll(promises.records());
            promises.found(found);
            promises.hear(lines);
        }
        System.out.printf(
                "power cuts of the machine: %d, records acknowledged as synced: %d, lost: 0; sectors written but not flushed: %d%n",
                cuts, promises.acknowledged(), unflushed);
        assertThat(promises.acknowledged()).isGreaterThan(cuts);
    }

    /** The test above can fail: a store that doesn't sync loses what it promised. */
    @Test
    void powerCut_ofAMachineWhoseStoreDoesNotSync_isFound() throws Exception {
        assumeTrue(Boolean.getBoolean("mooncake.long"), "SKIPPED: only with -Dmooncake.long=true");
        prepare();
        SplittableRandom random = Seeds.random("power cuts without syncs");
        Promises promises = new Promises();
        promises.hear(life("forget", 0, 60, random));
        assertThat(promises.records()).isNotEmpty();
        List<Long> found = found(life("recover", 1, 0, random));
        assertThat(found.containsAll(promises.records())).isFalse();
    }

    private static List<Long> found(List<String> lines) {
        return lines.stream()
                .filter(line -> line.startsWith("FOUND "))
                .map(line -> Long.parseLong(line.substring(6)))
                .toList();
    }

    /**
     * Boots the machine, lets it write until it has said so many lines more than that it is open, and cuts its power.
     *
     * @return all that it said
     */
    private List<String> life(String mode, int life, int lines, SplittableRandom random) throws Exception {
        if (disk == null) {
            disk = format(folder.resolve("disk"));
        }
        Path out = Files.createDirectories(folder.resolve("out"));
        Path said = out.resolve("lines");
        Files.deleteIfExists(said);
        Path running = folder.resolve("running");
        Files.copy(disk, running, StandardCopyOption.REPLACE_EXISTING);
        // The temporary files of the JVM go to the guest's own memory.
        String command = "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/run "
                + SsdKillTest.command(mode, "/run/disk", life * 100_000L, random.nextLong()).stream()
                        .map(SsdMachineCutIT::quoted)
                        .collect(Collectors.joining(" "));
        Path script = folder.resolve("load.sh");
        Files.writeString(script, command + " > /run/out/lines\n" + "echo \"[ended: $?]\" >> /run/out/lines\n");
        Path log = folder.resolve("log");
        Path console = folder.resolve("console");
        Process machine = new ProcessBuilder(
                        "bash",
                        SCRIPT,
                        "disk",
                        Integer.toString(BOOT_SECONDS),
                        script.toString(),
                        running.toString(),
                        log.toString(),
                        out.toString())
                .redirectErrorStream(true)
                .redirectOutput(console.toFile())
                .start();
        try {
            awaitLines(machine, said, lines);
            Thread.sleep(random.nextInt(200));
        } finally {
            kill(machine);
        }
        List<String> all = lines(said);
        assertThat(all).as(Files.readString(console)).contains("OPEN").noneMatch(line -> line.startsWith("[ended"));
        WriteLog.Cut cut = WriteLog.replay(log, disk, random);
        System.out.printf("life %d of the machine: %d lines, %s%n", life, all.size(), cut);
        unflushed += cut.unflushed();
        return all;
    }

    private static void awaitLines(Process machine, Path said, int lines) throws Exception {
        while (machine.isAlive()) {
            List<String> now = lines(said);
            int open = now.indexOf("OPEN");
            if (open >= 0 && now.size() > open + lines || now.stream().anyMatch(line -> line.startsWith("[ended"))) {
                return;
            }
            Thread.sleep(5);
        }
    }

    /** The power goes with the process, at whatever it is. */
    private static void kill(Process machine) throws InterruptedException {
        machine.descendants()
                .filter(process -> process.info().command().orElse("").contains("qemu-system"))
                .forEach(ProcessHandle::destroyForcibly);
        if (!machine.waitFor(30, TimeUnit.SECONDS)) {
            machine.descendants().forEach(ProcessHandle::destroyForcibly);
            machine.destroyForcibly();
        }
    }

    /** Whole lines only. */
    private static List<String> lines(Path said) throws IOException {
        if (!Files.exists(said)) {
            return List.of();
        }
        String text = Files.readString(said);
        return text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
    }

    private static Path format(Path image) throws IOException, InterruptedException {
        try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw")) {
            file.setLength(DISK_BYTES);
        }
        String options = "lazy_itable_init=0,lazy_journal_init=0";
        Process process = new ProcessBuilder("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", options, image.toString())
                .inheritIO()
                .start();
        assertThat(process.waitFor()).isZero();
        return image;
    }

    private static String quoted(String text) {
        return "'" + text.replace("'", "'\\''") + "'";
    }

    private void prepare() throws IOException, InterruptedException {
        Path log = folder.resolve("prepare.log");
        Process process = new ProcessBuilder("bash", SCRIPT, "prepare")
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        if (!process.waitFor(PREPARE_SECONDS, TimeUnit.SECONDS)) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            throw new AssertionError("no end after " + PREPARE_SECONDS + " s: " + Files.readString(log));
        }
        String said = Files.readString(log).strip();
        if (process.exitValue() == CANNOT
                && (!ROOT || said.contains("expected: Linux x86_64") || said.contains("expected: Debian"))) {
            abort("SKIPPED: NO POWER OF A MACHINE WAS CUT. " + said);
        }
        assertThat(process.exitValue()).as(said).isZero();
    }
}
