// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Several network interfaces at once, between two processes in namespaces of their own. Bandwidths are asserted with slack: this machine's
 * processors do the shaping, too. {@code -Dmooncake.railMbit} sets that of a rail.
 */
final class RailsIT {
    private static final int MBIT = Integer.getInteger("mooncake.railMbit", 150);
    private static final int BATCH = 16 << 20;
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
    private record Moved(int failed, int wrong, long millis, long[] fifths) {
        static Moved of(String line) {
            String[] words = line.split(" ");
            return new Moved(
                    Integer.parseInt(words[1]),
                    Integer.parseInt(words[2]),
                    Long.parseLong(words[3]),
                    Arrays.stream(words[4].split(","))
                            .mapToLong(Long::parseLong)
                            .toArray());
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
    private static double[] speeds(RailNetwork network, int rails, double[] enough) throws IOException {
        double[] speeds = new double[2];
        try {
            RailNetwork.TcpProcess reader = network.startReader(rails, 2);
            for (int i = 0; i < 2; i++) {
                String question = (i == 0 ? "move read " : "move write ") + BATCH + " ";
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
                    MBIT,
                    speeds[0] / 1e6,
                    speeds[1] / 1e6);
            return speeds;
        } finally {
            network.stopProcesses();
        }
    }

    @Test
    void rails_severalOfOneSpeed_addUp() throws IOException {
        try (RailNetwork network = new RailNetwork(8, MBIT)) {
            double[] one = speeds(network, 1, new double[2]);
            double[] two = speeds(network, 2, new double[] {1.8 * one[0], 1.8 * one[1]});
            double[] eight = speeds(network, 8, new double[] {6 * one[0], 6 * one[1]});
            for (int i = 0; i < 2; i++) {
                System.out.printf(
                        Locale.ROOT,
                        "%s: two rails %.2fx, eight rails %.2fx one%n",
                        i == 0 ? "read" : "write",
                        two[i] / one[i],
                        eight[i] / one[i]);
                assertThat(two[i]).isGreaterThan(1.6 * one[i]);
                assertThat(eight[i]).isGreaterThan(4.5 * one[i]);
            }
        }
    }

    @Test
    void rail_downMidTransfer_losesNoRequestAndComesBack() throws Exception {
        boolean exact = Boolean.getBoolean("mooncake.long");
        int downMillis = exact ? 20_000 : 6000;
        int backMillis = exact ? 14_000 : 7000;
        int beforeMillis = 2000;
        try (RailNetwork network = new RailNetwork(2, MBIT)) {
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
            // Noticing takes up to two seconds, which weigh more in the short form.
            assertThat(meanwhile).isGreaterThan((exact ? 0.45 : 0.28) * before);
            assertThat(after).isGreaterThan((exact ? 0.95 : 0.85) * before);
        }
    }
}
