// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Several network interfaces at once, between two processes in namespaces of their own. This machine's processors are network and shaper,
 * too: rails of the wanted speed are tried first, slower ones where it is too busy for them. {@code -Dmooncake.railMbit} sets the wanted
 * speed.
 */
final class RailsIT {
    private static final int MBIT = Integer.getInteger("mooncake.railMbit", 1000);
    private static final int SLOW_MBIT = 150;
    private static final int BATCH = 16 << 20;
    private static final double TWO = 1.8;
    private static final double EIGHT = 6.5;
    private static final int ATTEMPTS = 4;
    private static final int WARM_MILLIS = 500;
    private static final int MEASURED_MILLIS = 1500;

    @BeforeEach
    void requireNamespaces() {
        String why = RailNetwork.unavailable();
        if (!why.isEmpty()) {
            abort("SKIPPED: NO RAILS WERE TESTED. " + why);
        }
    }

    /** Bytes a fifth of a second, and what went wrong. */
    private record Moved(int failed, int wrong, long millis, long[] fifths, long[] railBytes) {
        static Moved of(String line) {
            String[] words = line.split(" ");
            return new Moved(
                    Integer.parseInt(words[1]),
                    Integer.parseInt(words[2]),
                    Long.parseLong(words[3]),
                    numbers(words[4]),
                    numbers(words[6]));
        }

        private static long[] numbers(String list) {
            return Arrays.stream(list.split(",")).mapToLong(Long::parseLong).toArray();
        }

        double bytesPerSecond() {
            return Arrays.stream(fifths).sum() * 1e3 / millis;
        }

        double bytesPerSecond(int fromFifth, int toFifth) {
            long sum = 0;
            for (int i = fromFifth; i < toFifth; i++) {
                sum += fifths[i];
            }
            return sum * 5.0 / (toFifth - fromFifth);
        }
    }

    /** Bytes a second of reads, and of writes; tried again, on a busy machine, until they are {@code enough}. */
    private static double[] speeds(RailNetwork network, int rails, int mbit, double[] enough) throws IOException {
        // Beginning and end of a batch, of which one rail more or less makes no difference, are not what is measured.
        int batch = mbit > SLOW_MBIT ? TcpPeer.SIZE : BATCH;
        double[] speeds = new double[2];
        try {
            RailNetwork.TcpProcess reader = network.startReader(rails, 2);
            for (int i = 0; i < 2; i++) {
                String question = (i == 0 ? "move read " : "move write ") + batch + " ";
                reader.ask(question + WARM_MILLIS);
                for (int attempt = 0; attempt == 0 || (attempt < ATTEMPTS && speeds[i] < enough[i]); attempt++) {
                    Moved moved = Moved.of(reader.ask(question + MEASURED_MILLIS));
                    assertThat(moved.failed).isZero();
                    assertThat(moved.wrong).isZero();
                    speeds[i] = Math.max(speeds[i], moved.bytesPerSecond());
                }
            }
            System.out.printf(
                    Locale.ROOT,
                    "%d rails of %d Mbit/s: read %.1f MB/s, write %.1f MB/s%n",
                    rails,
                    mbit,
                    speeds[0] / 1e6,
                    speeds[1] / 1e6);
            return speeds;
        } finally {
            network.stopProcesses();
        }
    }

    /** How many times one rail two carry, and eight: the less of reads and writes. */
    private static double[] sums(int mbit) throws IOException {
        try (RailNetwork network = new RailNetwork(8, mbit)) {
            double[] one = speeds(network, 1, mbit, new double[2]);
            double[] two = speeds(network, 2, mbit, new double[] {TWO * one[0], TWO * one[1]});
            double[] eight = speeds(network, 8, mbit, new double[] {EIGHT * one[0], EIGHT * one[1]});
            for (int i = 0; i < 2; i++) {
                System.out.printf(
                        Locale.ROOT,
                        "%s: two rails %.2fx, eight rails %.2fx one%n",
                        i == 0 ? "read" : "write",
                        two[i] / one[i],
                        eight[i] / one[i]);
            }
            return new double[] {
                Math.min(two[0] / one[0], two[1] / one[1]), Math.min(eight[0] / one[0], eight[1] / one[1])
            };
        }
    }

    @Test
    void rails_severalOfOneSpeed_addUp() throws IOException {
        double[] sums = sums(MBIT);
        if (sums[0] < TWO || sums[1] < EIGHT) {
            System.out.println("This machine is too busy to be a network of 8 x " + MBIT + " Mbit/s: slower rails");
            sums = sums(SLOW_MBIT);
        }
        assertThat(sums[0]).as("two rails").isGreaterThan(1.6);
        assertThat(sums[1]).as("eight rails").isGreaterThan(4.5);
    }

    @Test
    void rail_downMidTransfer_losesNoRequestAndComesBack() throws Exception {
        boolean exact = Boolean.getBoolean("mooncake.long");
        // Noticing takes up to two seconds, which weigh more in the short form.
        double leastMeanwhile = exact ? 0.45 : 0.28;
        double leastAfter = exact ? 0.95 : 0.85;
        double[] shares = new double[2];
        // No request may be lost on any machine; what is carried is tried again on a busy one.
        for (int i = 0; i < ATTEMPTS && (shares[0] <= leastMeanwhile || shares[1] <= leastAfter); i++) {
            shares = downMidTransfer(exact ? 20_000 : 6000, exact ? 14_000 : 7000);
        }
        assertThat(shares[0]).isGreaterThan(leastMeanwhile);
        assertThat(shares[1]).isGreaterThan(leastAfter);
    }

    /** What is carried while one of two rails is down, and afterwards, of what was carried before. */
    private static double[] downMidTransfer(int downMillis, int backMillis) throws IOException, InterruptedException {
        int beforeMillis = 2000;
        try (RailNetwork network = new RailNetwork(2, SLOW_MBIT)) {
            RailNetwork.TcpProcess reader = network.startReader(2, 2);
            reader.ask("move read " + BATCH + " 1000");
            reader.send("move read " + (8 << 20) + " " + (beforeMillis + downMillis + backMillis));
            Thread.sleep(beforeMillis);
            network.set(1, "down");
            Thread.sleep(downMillis);
            network.set(1, "up");
            Moved moved = Moved.of(reader.answer("MOVED "));
            double before = moved.bytesPerSecond(0, beforeMillis / 200 - 1);
            double meanwhile = moved.bytesPerSecond((beforeMillis + 200) / 200, (beforeMillis + downMillis) / 200);
            int tail = moved.fifths.length - 10;
            double after = moved.bytesPerSecond(tail, moved.fifths.length - 1);
            System.out.printf(
                    Locale.ROOT,
                    "one of two rails down: %.1f MB/s before, %.1f (%.0f %%) meanwhile, %.1f (%.0f %%) after; by fifths of a second: %s%n",
                    before / 1e6,
                    meanwhile / 1e6,
                    100 * meanwhile / before,
                    after / 1e6,
                    100 * after / before,
                    Arrays.toString(Arrays.stream(moved.fifths)
                            .map(b -> b * 5 / 1_000_000)
                            .toArray()));
            assertThat(moved.failed).isZero();
            assertThat(moved.wrong).isZero();
            return new double[] {meanwhile / before, after / before};
        }
    }

    /** What the rails carried since the process began, after {@code millis} more of reading. */
    private static long[] read(RailNetwork.TcpProcess reader, int millis) throws IOException {
        Moved moved = Moved.of(reader.ask("move read " + (8 << 20) + " " + millis));
        assertThat(moved.failed).isZero();
        assertThat(moved.wrong).isZero();
        return moved.railBytes;
    }

    @Test
    void rails_memoryPrefersOne_carriesAllUntilItIsDown(@TempDir Path folder) throws IOException {
        int preferred = 1;
        int other = 0;
        Path file = Files.writeString(folder.resolve("rails"), "cpu:0 = r" + preferred + " | r" + other + "\n");
        try (RailNetwork network = new RailNetwork(2, SLOW_MBIT)) {
            RailNetwork.TcpProcess reader = network.startReader(2, 2, "-Dmooncake.topology.file=" + file);
            // The first connect of a new process may take so long that its rail rests for a while.
            long[] warm = new long[2];
            long[] before = read(reader, 1000);
            for (int i = 0; i < 20 && (before[preferred] == warm[preferred] || before[other] > warm[other]); i++) {
                warm = before;
                before = read(reader, 1000);
            }
            assertThat(before[preferred]).isGreaterThan(warm[preferred]);
            assertThat(before[other]).isEqualTo(warm[other]);
            network.set(preferred, "down");
            long[] meanwhile = read(reader, 3000);
            for (int i = 0; i < 20 && meanwhile[other] == before[other]; i++) {
                meanwhile = read(reader, 1000);
            }
            assertThat(meanwhile[other]).isGreaterThan(before[other]);
            network.set(preferred, "up");
            // It rests for five seconds at most before it is probed.
            long[] back = meanwhile;
            for (int i = 0; i < 30 && back[preferred] - meanwhile[preferred] < (1 << 20); i++) {
                back = read(reader, 1000);
            }
            long[] after = read(reader, 1000);
            for (int i = 0; i < 20 && (after[preferred] == back[preferred] || after[other] > back[other]); i++) {
                back = after;
                after = read(reader, 1000);
            }
            assertThat(after[preferred]).isGreaterThan(back[preferred]);
            assertThat(after[other]).isEqualTo(back[other]);
            System.out.printf(
                    Locale.ROOT,
                    "memory prefers the second rail: bytes of both %s, while that is down %s, afterwards %s%n",
                    Arrays.toString(before),
                    Arrays.toString(meanwhile),
                    Arrays.toString(after));
        }
    }
}
