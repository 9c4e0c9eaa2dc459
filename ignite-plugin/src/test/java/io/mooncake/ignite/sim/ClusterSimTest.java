// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.mooncake.transfer.internal.SafetyChecks;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

/** Leases, reads and copies in a simulated cluster: no byte is wrong, nothing is lost, all comes to rest; and each check that is left out is missed. */
class ClusterSimTest {
    private static final int SEEDS = Boolean.getBoolean("mooncake.long") ? 50_000 : 1_000;
    /** The same seeds in each run. */
    private static final long FIRST_SEED = 1;

    private static final Logger LOG = (Logger) LoggerFactory.getLogger("io.mooncake");
    private static Level before;

    /** One check left out, in a world in which no other check covers for it. */
    enum Bug {
        CHECKSUMS_NOT_COMPARED(checks(true, true, true), checks(true, false, true), true, false),
        LOST_COPIES_COUNTED(SimFaults.NONE, new SimFaults(SafetyChecks.ALL, true, true, true)),
        LEASE_TERM_IGNORED(checks(false, false, true), checks(false, false, false), false, false);

        private final SimFaults without;
        private final SimFaults with;

        Bug(SafetyChecks without, SafetyChecks with, boolean damages, boolean suspects) {
            this(new SimFaults(without, damages, suspects, false), new SimFaults(with, damages, suspects, false));
        }

        Bug(SimFaults without, SimFaults with) {
            this.without = without;
            this.with = with;
        }

        private static SafetyChecks checks(boolean generation, boolean checksum, boolean leaseExpiry) {
            return new SafetyChecks(generation, checksum, leaseExpiry, true, true);
        }
    }

    @BeforeAll
    static void beQuiet() {
        before = LOG.getLevel();
        // What goes wrong here is meant to, thousands of times.
        LOG.setLevel(Level.OFF);
    }

    @AfterAll
    static void speakAgain() {
        LOG.setLevel(before);
    }

    @Test
    void run_crashesDelaysDuplicatesAndCuts_allHoldsAndComesToRest() {
        long first = Long.getLong("mooncake.seed", FIRST_SEED);
        int seeds = System.getProperty("mooncake.seed") == null ? SEEDS : 1;
        long reads = 0;
        for (long seed = first; seed < first + seeds; seed++) {
            SimWorld world = new SimWorld(seed, SimFaults.NONE);
            run(world, seed);
            reads += world.reads();
        }
        System.out.println("cluster simulation: " + seeds + " seeds from " + first + ", " + reads + " blocks read");
        assertThat(reads).as("blocks read").isGreaterThan(seeds);
    }

    private static long run(SimWorld world, long seed) {
        try {
            return world.run();
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("replay with -Dmooncake.seed=" + seed, e);
        }
    }

    @Test
    void run_sameSeed_sameTrace() {
        for (long seed = FIRST_SEED; seed < FIRST_SEED + 10; seed++) {
            long trace = run(new SimWorld(seed, SimFaults.NONE), seed);
            assertThat(run(new SimWorld(seed, SimFaults.NONE), seed)).isEqualTo(trace);
            assertThat(run(new SimWorld(seed + 1, SimFaults.NONE), seed + 1)).isNotEqualTo(trace);
        }
    }

    @ParameterizedTest
    @EnumSource(Bug.class)
    void run_withABug_isFoundWithinTheSeeds(Bug bug) {
        for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
            try {
                new SimWorld(seed, bug.with).run();
            } catch (AssertionError | RuntimeException found) {
                System.out.println(
                        "cluster simulation: " + bug + " is found by seed " + seed + ": " + found.getMessage());
                // The same world but for the bug is whole.
                run(new SimWorld(seed, bug.without), seed);
                return;
            }
        }
        assertThat(bug).as("found within " + SEEDS + " seeds").isNull();
    }
}
