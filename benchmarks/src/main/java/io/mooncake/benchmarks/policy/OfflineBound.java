// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import io.mooncake.benchmarks.policy.Trace.TraceRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * What no policy can beat: after each request the cache keeps those blocks whose next use comes soonest, known from the future. The block before
 * another is used no later than it, so this keeps chains whole.
 */
final class OfflineBound {
    private static final int NEVER = Integer.MAX_VALUE;

    private OfflineBound() {}

    /** Hits of each request with room for {@code blocks}. */
    static int[] hits(Trace trace, int blocks) {
        int[][] nextUses = nextUses(trace.requests());
        int[] hits = new int[trace.requests().size()];
        Map<Long, Integer> cached = new HashMap<>();
        PriorityQueue<long[]> furthest = new PriorityQueue<>((a, b) -> Long.compare(b[0], a[0]));
        for (int i = 0; i < hits.length; i++) {
            long[] names = trace.requests().get(i).blocks();
            while (hits[i] < names.length && cached.containsKey(names[hits[i]])) {
                hits[i]++;
            }
            for (int at = 0; at < names.length; at++) {
                int next = nextUses[i][at];
                if (next == NEVER) {
                    cached.remove(names[at]);
                } else {
                    cached.put(names[at], next);
                    furthest.add(new long[] {next * (1L << 24) + at, names[at]});
                }
            }
            while (cached.size() > blocks) {
                long[] last = furthest.remove();
                Integer next = cached.get(last[1]);
                if (next != null && next == last[0] >> 24) {
                    cached.remove(last[1]);
                }
            }
        }
        return hits;
    }

    /** For each block of each request, the next request that has it. */
    private static int[][] nextUses(List<TraceRequest> requests) {
        int[][] nextUses = new int[requests.size()][];
        Map<Long, Integer> next = new HashMap<>();
        for (int i = requests.size() - 1; i >= 0; i--) {
            long[] names = requests.get(i).blocks();
            nextUses[i] = new int[names.length];
            for (int at = 0; at < names.length; at++) {
                nextUses[i][at] = next.getOrDefault(names[at], NEVER);
                next.put(names[at], i);
            }
        }
        return nextUses;
    }

    /** Hits of each request when nothing ever goes. */
    static int[] hitsWithoutLimit(Trace trace) {
        Set<Long> seen = new HashSet<>();
        List<Integer> hits = new ArrayList<>();
        for (TraceRequest request : trace.requests()) {
            int count = 0;
            while (count < request.blocks().length && seen.contains(request.blocks()[count])) {
                count++;
            }
            for (long block : request.blocks()) {
                seen.add(block);
            }
            hits.add(count);
        }
        return hits.stream().mapToInt(Integer::intValue).toArray();
    }
}
