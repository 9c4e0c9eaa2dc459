// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import io.mooncake.memory.policy.EvictionPolicy;
import io.mooncake.memory.policy.Policies;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * A policy with certain parameters.
 *
 * @param family its name, without parameters
 * @param parameters in words, empty when it has none
 * @param maker makes it
 */
record Contestant(String family, String parameters, Maker maker) {
    /** Makes a policy for so many slots under a clock. */
    interface Maker {
        EvictionPolicy make(int slots, LongSupplier nanoClock);
    }

    /** Name of ours. */
    static final String OURS = "return-index";

    private static final double[] GDSF_EXPONENTS = {1, 1.5, 2};
    private static final int[] GDSF_HISTORIES = {0, 4};
    private static final double[] S3_FIFO_SHARES = {0.05, 0.1, 0.25};
    private static final double[] TINY_LFU_SHARES = {0.01, 0.1, 0.3, 0.6};

    /** All families with the grid of their parameters. */
    static List<Contestant> all() {
        List<Contestant> all = new ArrayList<>();
        all.add(new Contestant("lru", "", (slots, clock) -> Policies.lru(slots)));
        all.add(new Contestant("lfu", "", (slots, clock) -> Policies.lfu(slots)));
        for (double share : S3_FIFO_SHARES) {
            for (int uses = 1; uses <= 2; uses++) {
                int stay = uses;
                all.add(new Contestant(
                        "s3-fifo",
                        share + " small, " + stay + " to stay",
                        (slots, clock) -> Policies.s3Fifo(slots, share, stay)));
            }
        }
        all.add(new Contestant("arc", "", (slots, clock) -> Policies.arc(slots)));
        for (double share : TINY_LFU_SHARES) {
            all.add(new Contestant("w-tinylfu", share + " window", (slots, clock) -> Policies.tinyLfu(slots, share)));
        }
        for (double exponent : GDSF_EXPONENTS) {
            for (int history : GDSF_HISTORIES) {
                all.add(new Contestant(
                        "gdsf",
                        "exponent " + exponent + ", history " + history,
                        (slots, clock) -> Policies.gdsf(slots, exponent, history)));
            }
        }
        all.add(new Contestant(OURS, "", Policies::returnIndex));
        return all;
    }
}
