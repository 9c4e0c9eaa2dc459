// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import io.mooncake.benchmarks.policy.Trace.TraceRequest;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The LRU that is published for these traces: blocks one by one in the order of the prompt, whether or not another follows. Its figures are known, so
 * it shows that traces are read and hits counted as elsewhere.
 */
final class PlainLru {
    private PlainLru() {}

    /** Hits of each request with room for {@code blocks}. */
    static int[] hits(Trace trace, int blocks) {
        Map<Long, Boolean> cached = new LinkedHashMap<>(16, 0.75f, true);
        int[] hits = new int[trace.requests().size()];
        for (int i = 0; i < hits.length; i++) {
            TraceRequest request = trace.requests().get(i);
            boolean whole = true;
            for (long block : request.blocks()) {
                boolean hit = cached.get(block) != null;
                whole &= hit;
                hits[i] += whole ? 1 : 0;
                if (!hit) {
                    cached.put(block, true);
                    if (cached.size() > blocks) {
                        cached.remove(cached.keySet().iterator().next());
                    }
                }
            }
        }
        return hits;
    }
}
