// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

final class MemoryLoopsTest {
    @Test
    void measure_everyLoopOnOneAndTwoThreads_givesAFigureAndLeavesNothing() throws Exception {
        try (MemoryLoops loops = new MemoryLoops()) {
            for (String loop : List.of(
                    "slab",
                    "arena",
                    "arena mixed",
                    "malloc mixed",
                    "lease",
                    "lease shared",
                    "buffer",
                    "buffer lease",
                    "arrow",
                    "arrow retain",
                    "malloc",
                    "floor")) {
                for (int threads = 1; threads <= 2; threads++) {
                    MemoryLoops.Cost cost = loops.measure(loop, threads, 1_000_000);
                    assertThat(cost.nanos()).as(loop).isBetween(0.1, 1e7);
                    assertThat(cost.heapBytes()).as(loop).isGreaterThanOrEqualTo(0);
                }
            }
            assertThatThrownBy(() -> loops.measure("stack", 1, 1)).hasMessageContaining("loop: stack");
        }
    }
}
