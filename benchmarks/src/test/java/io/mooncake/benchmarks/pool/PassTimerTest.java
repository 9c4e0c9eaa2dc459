// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.examples.cli.Refusal;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Every pass has keys of its own, filling and clearing are not measured, and answers are taken apart as they were made. */
class PassTimerTest {
    /** Notes what it was asked for. */
    private static final class Noted implements Calls {
        private final List<String> calls = new ArrayList<>();

        @Override
        public void begin(int count) {
            calls.add("begin " + count);
        }

        @Override
        public void put(int first, int batch) throws InterruptedException {
            calls.add("put " + first + " " + batch);
            Thread.sleep(1);
        }

        @Override
        public void fill() {
            calls.add("fill");
        }

        @Override
        public void get(int first, int batch) throws InterruptedException {
            calls.add("get " + first + " " + batch);
            Thread.sleep(1);
        }

        @Override
        public void exists(int first, int batch) {}

        @Override
        public void clear() {
            calls.add("clear");
        }
    }

    @Test
    void measure_puts_inBatchesOfOnePass() throws Exception {
        Noted noted = new Noted();
        String answer = PassTimer.measure(noted, "put", 16 << 20, 2, 1);

        assertThat(noted.calls.subList(0, 4)).containsExactly("begin 4", "put 0 2", "put 2 2", "clear");
        assertThat(PoolBench.secondsOfACall("it", answer)).isGreaterThanOrEqualTo(0.001);
    }

    @Test
    void measure_gets_areFilledBefore() throws Exception {
        Noted noted = new Noted();
        PassTimer.measure(noted, "get", 64 << 20, 1, 1);

        assertThat(noted.calls.subList(0, 4)).containsExactly("begin 1", "fill", "get 0 1", "clear");
    }

    @Test
    void secondsOfACall_failure_isSaid() {
        assertThatThrownBy(() -> PoolBench.secondsOfACall("redis", "failed no connection"))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("redis: failed no connection");
    }
}
