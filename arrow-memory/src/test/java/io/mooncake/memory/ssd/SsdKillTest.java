// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.Seeds;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that are killed while they write: what they were told is synced is found, with its bytes, and no slot is lost. */
final class SsdKillTest {
    @TempDir
    Path folder;

    /** What starts {@link SsdWriterMain} with its arguments, in a small JVM that is soon there. */
    static List<String> command(Object... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-opens=java.base/java.nio=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                "-Xmx64m",
                "-XX:-UsePerfData",
                "-cp",
                Arrays.stream(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                                .split(File.pathSeparator))
                        .filter(entry -> !entry.contains("logback"))
                        .collect(Collectors.joining(File.pathSeparator)),
                SsdWriterMain.class.getName()));
        Arrays.stream(arguments).map(String::valueOf).forEach(command::add);
        return command;
    }

    static Process start(Object... arguments) throws IOException {
        return new ProcessBuilder(command(arguments))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    static List<String> killAndRead(Process process, BufferedReader out) throws Exception {
        // By its handle: the process itself would close the pipe with what is in it.
        process.toHandle().destroyForcibly();
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        List<String> lines = new ArrayList<>();
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            lines.add(line);
        }
        return lines;
    }

    private String tryToOpen() throws Exception {
        Process process = start("try", folder);
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            return out.readLine();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void open_inAnotherProcess_isRefusedUntilItIsClosedHere() throws Exception {
        String owner = "node node-a, process " + ProcessHandle.current().pid();
        try (SsdStore store = SsdStore.open(SsdWriterMain.settings(folder))) {
            assertThat(Records.putSynced(store, 1)).isEqualTo(SsdOutcome.SYNCED);
            assertThat(tryToOpen()).startsWith("REFUSED").contains(owner);
            // One that is refused in this process leaves the lock alone, too.
            assertThatThrownBy(() -> SsdStore.open(SsdWriterMain.settings(folder)))
                    .hasMessageContaining(owner);
            assertThat(tryToOpen()).startsWith("REFUSED").contains(owner);
        }
        assertThat(tryToOpen()).isEqualTo("OPEN " + SsdWriterMain.SLOTS);
    }

    @Test
    void kill_underLoad_losesNothingThatWasSynced() throws Exception {
        SplittableRandom random = Seeds.random("kills");
        int kills = Seeds.count(50, 1_000);
        Set<Long> mustBeThere = new HashSet<>();
        Set<Long> mayBeThere = new HashSet<>();
        long first = 0;
        int acknowledged = 0;
        for (int kill = 0; kill < kills; kill++) {
            Process process = start("load", folder, first, random.nextLong());
            try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
                assertThat(out.readLine()).isEqualTo("OPEN");
                List<String> lines = new ArrayList<>();
                for (int left = random.nextInt(30); left > 0; left--) {
                    lines.add(out.readLine());
                }
                Thread.sleep(random.nextInt(10));
                lines.addAll(killAndRead(process, out));
                for (String line : lines) {
                    String[] words = line.split(" ");
                    if (words.length < 2) {
                        continue;
                    }
                    long number = Long.parseLong(words[1]);
                    if (words[0].equals("SYNCED")) {
                        // Another thread may have removed it before its writer came to say so.
                        if (!mayBeThere.contains(number)) {
                            mustBeThere.add(number);
                        }
                        acknowledged++;
                    } else {
                        mustBeThere.remove(number);
                        mayBeThere.add(number);
                    }
                }
            } finally {
                process.destroyForcibly();
            }
            first += 100_000;
            Set<Long> found = new HashSet<>();
            try (SsdStore store = SsdStore.open(SsdWriterMain.settings(folder))) {
                store.forEach((key, generation) -> found.add(Records.number(key)));
                for (long number : found) {
                    assertThat(Records.load(store, number))
                            .as("kill %d, record %d", kill, number)
                            .isEqualTo(SsdOutcome.LOADED);
                }
                assertThat(store.statistics().damagedPages()).isZero();
            }
            assertThat(found).as("kill %d", kill).containsAll(mustBeThere);
            mayBeThere.clear();
            // What is there now was synced with the index that told so.
            mustBeThere.clear();
            mustBeThere.addAll(found);
        }
        System.out.println("kills: " + kills + ", records acknowledged as synced: " + acknowledged + ", lost: 0");
        assertThat(acknowledged).isGreaterThan(kills);
    }

    @Test
    void kill_atEachStepOfACommit_showsItWholeOrNotAtAllAndLosesNoSlot() throws Exception {
        long next = 0;
        Set<Long> expected = new HashSet<>();
        List<String> points = new ArrayList<>();
        for (boolean append : new boolean[] {false, true}) {
            boolean done = false;
            for (int step = 0; !done; step++) {
                Process process = start("point", folder, next, append, step);
                String at;
                try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
                    at = out.readLine();
                    killAndRead(process, out);
                } finally {
                    process.destroyForcibly();
                }
                assertThat(at).isNotNull();
                if (append) {
                    expected.add(next++);
                }
                done = at.equals("DONE");
                points.add((append ? "append: " : "anew: ") + at);
                long number = next++;
                try (SsdStore store = SsdStore.open(SsdWriterMain.settings(folder))) {
                    for (long synced : expected) {
                        assertThat(Records.load(store, synced)).as(at).isEqualTo(SsdOutcome.LOADED);
                    }
                    SsdOutcome last = Records.load(store, number);
                    if (done) {
                        assertThat(last).isEqualTo(SsdOutcome.LOADED);
                    } else if (!at.contains("index-") || at.startsWith("create")) {
                        assertThat(last).as(at).isEqualTo(SsdOutcome.MISS);
                    } else if (at.startsWith("synced index-") && append) {
                        assertThat(last).as(at).isEqualTo(SsdOutcome.LOADED);
                    } else {
                        assertThat(last).as(at).isIn(SsdOutcome.LOADED, SsdOutcome.MISS);
                    }
                    // Every slot can be written, and is given back.
                    int free = SsdWriterMain.SLOTS - store.statistics().records();
                    for (int i = 0; i < free; i++) {
                        assertThat(Records.put(store, 1_000_000 + i, SsdTicket.Until.STORED))
                                .isEqualTo(SsdOutcome.STORED);
                    }
                    for (int i = 0; i < free; i++) {
                        store.remove(Records.key(1_000_000 + i));
                    }
                    if (store.contains(Records.key(number))) {
                        expected.add(number);
                    }
                    // Not more than fit.
                    if (expected.size() > SsdWriterMain.SLOTS / 2) {
                        expected.forEach(old -> store.remove(Records.key(old)));
                        expected.clear();
                    }
                }
            }
        }
        System.out.println("kills at: " + points);
        assertThat(points)
                .anyMatch(point -> point.contains("half written segment"))
                .anyMatch(point -> point.contains("anew: AT write index"))
                .anyMatch(point -> point.contains("append: AT sync index"));
    }
}
