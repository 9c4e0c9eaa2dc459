// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

import io.mooncake.examples.cli.Refusal;
import java.util.Arrays;

/** Times calls in passes: new keys, then the calls, then everything is removed again. Only the calls count. */
final class PassTimer {
    private static final int PASS_CALLS = 256;
    private static final int PASS_BYTES = 64 << 20;
    private static final int MAX_SAMPLES = 1 << 20;

    private PassTimer() {}

    /** @return {@code result CALLS NANOS MEDIAN P99} */
    static String measure(Calls calls, String operation, int size, int batch, long millis) throws Exception {
        long[] samples = new long[MAX_SAMPLES];
        int made = 0;
        long total = 0;
        while (total < millis * 1_000_000 && made < MAX_SAMPLES - PASS_CALLS) {
            int groups = Math.max(1, Math.min(PASS_CALLS, PASS_BYTES / size) / batch);
            calls.begin(groups * batch);
            if (!operation.equals("put")) {
                calls.fill();
            }
            for (int group = 0; group < groups; group++) {
                long begin = System.nanoTime();
                switch (operation) {
                    case "put" -> calls.put(group * batch, batch);
                    case "get" -> calls.get(group * batch, batch);
                    case "exists" -> calls.exists(group * batch, batch);
                    default -> throw new Refusal("operation: " + operation + " (expected: put, get, exists)");
                }
                long took = System.nanoTime() - begin;
                samples[made++] = took;
                total += took;
            }
            calls.clear();
        }
        Arrays.sort(samples, 0, made);
        return "result " + made + " " + total + " " + samples[made / 2] + " " + samples[(int) (made * 99L / 100)];
    }
}
