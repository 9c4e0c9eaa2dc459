// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.RailNetwork.TcpProcess;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A process that was stopped and goes on: it must not take its own silence for that of its rails. */
final class PausedProcessIT {
    private static final int PAUSES = Boolean.getBoolean("mooncake.long") ? 40 : 5;
    private static final int PAUSE_MILLIS = 1200;
    private static final int BETWEEN_MILLIS = 250;
    private static final int RAILS = 4;
    private static final String HOSTS = "127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4";

    @Test
    void read_ownProcessIsStoppedAgainAndAgain_givesUpNoRail() throws IOException, InterruptedException {
        try (TcpProcess reader = new TcpProcess(null, List.of(), "reader", "43100", "1", HOSTS);
                TcpProcess owner =
                        new TcpProcess(null, List.of(), "owner", reader.ready().split(" ")[1], "43300", "1", HOSTS)) {
            reader.ask("peer" + owner.ready().substring("READY".length()));
            long given = awaitAllRails(reader);
            reader.send("move read " + (16 << 20) + " " + PAUSES * (PAUSE_MILLIS + BETWEEN_MILLIS));
            for (int i = 0; i < PAUSES; i++) {
                Thread.sleep(BETWEEN_MILLIS);
                reader.signal("STOP");
                Thread.sleep(PAUSE_MILLIS);
                reader.signal("CONT");
            }
            String[] moved = reader.answer("MOVED ").split(" ");
            assertThat(moved[1]).as("failed calls").isEqualTo("0");
            assertThat(moved[2]).as("wrong bytes").isEqualTo("0");
            assertThat(Long.parseLong(moved[5]) - given).as("rails given up").isZero();
        }
    }

    /** Until each rail carries: the first connect of a new process may take so long that its rail rests. What was given up so far. */
    private static long awaitAllRails(TcpProcess reader) throws IOException {
        long until = System.nanoTime() + 30_000_000_000L;
        long[] before = new long[RAILS];
        while (System.nanoTime() < until) {
            String[] moved = reader.ask("move read " + (16 << 20) + " 500").split(" ");
            long[] bytes = Arrays.stream(moved[6].split(","))
                    .mapToLong(Long::parseLong)
                    .toArray();
            long[] last = before;
            if (bytes.length == RAILS && IntStream.range(0, RAILS).allMatch(rail -> bytes[rail] > last[rail])) {
                return Long.parseLong(moved[5]);
            }
            before = bytes.length == RAILS ? bytes : before;
        }
        throw new AssertionError("a rail that carries nothing for half a minute");
    }
}
