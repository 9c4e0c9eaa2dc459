// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class PrefixBenchTest {
    /** The harness on a tenth of its size; contenders whose finds are not what was stored make it fail. Whether they are fast is no test's question. */
    @Test
    void rounds_smallTree_measuresEveryFigure() throws Exception {
        PrefixRounds rounds = new PrefixRounds(Workload.branching(80_000, 1), 0, 1, 5);
        rounds.build();
        rounds.lookUps();
        rounds.readerBesideWriter();
        rounds.keys();
        assertThat(rounds.figures()).containsOnlyKeys(PrefixBench.Figure.values());
        rounds.figures()
                .forEach((figure, byContender) -> byContender.forEach((contender, values) -> assertThat(values)
                        .as(figure + " of " + contender)
                        .allMatch(value -> value > 0 && Double.isFinite(value))));
        assertThat((int) rounds.shape().get("nodes")).as("branches").isGreaterThan(1_000);
    }

    @Test
    void contenders_randomPrompts_agree() {
        SplittableRandom random = new SplittableRandom(7);
        List<Contender> contenders =
                List.of(new TreeContender(10_000, false), new ChainedHashContender(10_000), new RadixPortContender());
        for (int i = 0; i < 3_000; i++) {
            int[] prompt = random.ints(16 + random.nextInt(60), 0, 2).toArray();
            int found = contenders.get(0).match(prompt);
            assertThat(contenders.get(1).match(prompt)).isEqualTo(found / 16 * 16);
            assertThat(contenders.get(2).match(prompt)).isEqualTo(found);
            long[] ids = new long[prompt.length / 16];
            contenders.forEach(contender -> contender.insert(prompt, ids));
        }
    }
}
