// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestBlocks.Taken;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.SsdTierStatistics;
import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node with an SSD is killed, by SIGKILL, while it writes blocks there, and started again. */
final class SsdKillNodeTest {
    private static final int LIVES = Boolean.getBoolean("mooncake.long") ? 20 : 1;
    private static final int PROMPTS = 12;

    @TempDir
    Path folder;

    @Test
    void start_afterAKillWhileBlocksAreWritten_servesWhatWasSyncedAndNothingTorn() throws Exception {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("killed node: -Dmooncake.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        long synced = 0;
        for (int life = 0; life < LIVES; life++) {
            try (TestGrid grid = new TestGrid()) {
                synced = killWhileItWrites(grid, synced, random);
                Ignite node = SsdKillNode.start(grid, folder);
                assertServes(node, synced);
            }
        }
    }

    /** Stores prompts behind {@code before}; the last one that was told synced. */
    private long killWhileItWrites(TestGrid grid, long before, SplittableRandom random) throws Exception {
        Process process = SsdKillNode.fork(grid, folder, before + 1);
        try (BufferedReader lines = SsdKillNode.lines(process)) {
            long last = SsdKillNode.next(lines, "SYNCED");
            while (last >= 0 && last < before + PROMPTS) {
                last = SsdKillNode.next(lines, "SYNCED");
            }
            assertThat(last).as("the process ended by itself").isPositive();
            TimeUnit.MICROSECONDS.sleep(random.nextInt(20_000));
            // By its handle: the process itself would close the pipe with what is in it.
            process.toHandle().destroyForcibly();
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).as("SIGKILL").isEqualTo(128 + 9);
            for (long more = last; more >= 0; more = SsdKillNode.next(lines, "SYNCED")) {
                last = more;
            }
            return last;
        } finally {
            process.destroyForcibly();
        }
    }

    private static void assertServes(Ignite node, long synced) {
        assertThat(SsdKillNode.tier(node).awaitRecovery(Deadline.ofMillis(20_000)))
                .isTrue();
        int offered = SsdKillNode.tier(node).statistics().blocks();
        int loaded = 0;
        for (long prompt = 1; prompt <= synced + 1; prompt++) {
            // Every byte of what it gives is checked.
            Taken taken = TestBlocks.take(
                    Mooncake.of(node).pool("tiny"),
                    TestBlocks.prompt(prompt, SsdKillNode.PROMPT),
                    Deadline.ofMillis(20_000));
            if (prompt <= synced) {
                assertThat(taken)
                        .as("prompt %d of %d that were synced", prompt, synced)
                        .isEqualTo(new Taken(SsdKillNode.WHOLE, SsdKillNode.WHOLE, 0, "NONE"));
            }
            loaded += taken.matched() / 16;
        }
        // Of the prompt that was being written any blocks may be there; those without the ones before them are offered,
        // too.
        assertThat(offered).isBetween(loaded, loaded + SsdKillNode.WHOLE / 16);
        SsdTierStatistics statistics = SsdKillNode.tier(node).statistics();
        assertThat(statistics.damaged()).isZero();
        assertThat(statistics.readFailures()).isZero();
        assertThat(statistics.store().damaged()).isZero();
        System.out.println("killed node: " + synced + " prompts synced, " + offered + " blocks offered, " + loaded
                + " loaded and right");
    }
}
