// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The feed's protocol in a simulated cluster: what is seen on a quiet network is the truth, and each check of a follower is needed. */
class FeedSimTest {
    private static final int SEEDS = Boolean.getBoolean("mooncake.long") ? 50_000 : 1_000;
    /** Bugs are found among seeds that are the same in each run. */
    private static final long BUG_SEED = 1;

    /** One check left out. */
    enum Bug {
        GAP_NOT_REPAIRED(new FeedChecks(false, true, true, true, true)),
        SNAPSHOT_SHOWN_HALF(new FeedChecks(true, false, true, true, true)),
        OLD_EVENT_APPLIED_AGAIN(new FeedChecks(true, true, false, true, true)),
        OLD_INCARNATION_ACCEPTED(new FeedChecks(true, true, true, false, true)),
        LOST_OWNER_NOT_CLEARED(new FeedChecks(true, true, true, true, false));

        private final FeedChecks checks;

        Bug(FeedChecks checks) {
            this.checks = checks;
        }
    }

    @Test
    void run_lossCrashesAndCuts_indexesEqualTheTruth() {
        long first = Long.getLong("mooncake.seed", System.nanoTime());
        int seeds = System.getProperty("mooncake.seed") == null ? SEEDS : 1;
        for (long seed = first; seed < first + seeds; seed++) {
            try {
                new FeedWorld(seed, FeedChecks.ALL).run();
            } catch (AssertionError | RuntimeException | OutOfMemoryError e) {
                throw new AssertionError("replay with -Dmooncake.seed=" + seed, e);
            }
        }
        System.out.println("feed simulation: " + seeds + " seeds from " + first);
    }

    @ParameterizedTest
    @EnumSource(Bug.class)
    void run_withABug_isFoundWithinTheSeeds(Bug bug) {
        for (long seed = BUG_SEED; seed < BUG_SEED + SEEDS; seed++) {
            try {
                new FeedWorld(seed, bug.checks).run();
            } catch (AssertionError | RuntimeException found) {
                System.out.println("feed simulation: " + bug + " is found by seed " + seed + ": " + found.getMessage());
                return;
            }
        }
        assertThat(bug).as("found within " + SEEDS + " seeds").isNull();
    }
}
