// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.pool;
import static io.mooncake.memory.Pools.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * A recorded trace through a whole pool, with tokens, chain keys, leases and writers: what the policies are worth there, not only in the
 * simulated pool of {@code bench policy}. Each block of the trace has {@value Pools#BLOCK_TOKENS} tokens here; a prompt's last block is shorter where
 * it is in the trace, and is then no block of the pool.
 */
class PoolTraceTest {
    private static final Pattern LINE = Pattern.compile(
            "\"timestamp\": *(\\d+).*\"input_length\": *(\\d+).*\"output_length\": *(\\d+).*\"hash_ids\": *\\[([^\\]]*)]");
    private static final int TRACE_BLOCK_TOKENS = 512;

    record Line(long millis, int outputTokens, int[] tokens) {}

    static List<Line> trace(String name, long most) throws IOException {
        String data = System.getenv("MOONCAKE_TEST_DATA");
        Path file = data == null ? Path.of("") : Path.of(data, "traces", name);
        assumeTrue(
                Files.isRegularFile(file),
                "MOONCAKE_TEST_DATA: " + data + " (expected: a folder with traces/" + file.getFileName() + ")");
        try (Stream<String> lines = Files.lines(file)) {
            return lines.limit(most).map(PoolTraceTest::line).toList();
        }
    }

    private static Line line(String text) {
        Matcher matcher = LINE.matcher(text);
        assertThat(matcher.find()).as(text).isTrue();
        long[] ids = Stream.of(matcher.group(4).split(","))
                .mapToLong(id -> Long.parseLong(id.strip()))
                .toArray();
        int length = Integer.parseInt(matcher.group(2));
        int rest = length - (ids.length - 1) * TRACE_BLOCK_TOKENS;
        int last =
                rest >= TRACE_BLOCK_TOKENS ? BLOCK_TOKENS + 1 : Math.max(1, rest * BLOCK_TOKENS / TRACE_BLOCK_TOKENS);
        int[] tokens = new int[(ids.length - 1) * BLOCK_TOKENS + last];
        for (int i = 0; i < tokens.length; i++) {
            long id = ids[Math.min(i / BLOCK_TOKENS, ids.length - 1)];
            int at = i % BLOCK_TOKENS;
            tokens[i] = at == 0 ? (int) (id % 1000) : at == 1 ? (int) (id / 1000 % 1000) : 0;
        }
        return new Line(Long.parseLong(matcher.group(1)), Integer.parseInt(matcher.group(3)), tokens);
    }

    /** Hits of whole blocks, by request. */
    private static int[] replay(List<Line> lines, String policy, int blocks) {
        AtomicLong clock = new AtomicLong();
        int[] hits = new int[lines.size()];
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), blocks, policy, clock::get)) {
            for (int i = 0; i < hits.length; i++) {
                Line line = lines.get(i);
                clock.set(line.millis * 1_000_000 + i);
                try (PrefixLease hit = pool.acquire(line.tokens, soon())) {
                    hits[i] = hit.blockCount();
                    hit.answered(line.outputTokens);
                    try (BlockWriter writer = pool.extend(hit, line.tokens)) {
                        while (writer.hasNext()) {
                            writer.next();
                        }
                        writer.publish();
                    }
                }
            }
        }
        return hits;
    }

    static double share(List<Line> lines, int[] hits, int from) {
        long asked = 0;
        long hit = 0;
        for (int i = from; i < hits.length; i++) {
            asked += lines.get(i).tokens.length / BLOCK_TOKENS;
            hit += hits[i];
        }
        return (double) hit / asked;
    }

    @Test
    void replay_conversations_returnIndexFindsMoreThanLru() throws IOException {
        List<Line> lines = trace("mooncake_conversation_trace.jsonl", Seeds.count(2_000, 1_000_000));
        for (int blocks : Seeds.count(0, 1) == 0 ? new int[] {1_000} : new int[] {1_000, 5_000, 10_000}) {
            List<Double> found = new ArrayList<>();
            for (String policy : Arrays.asList("lru", "return-index")) {
                int[] hits = replay(lines, policy, blocks);
                double whole = share(lines, hits, 0);
                System.out.printf(
                        "pool of %d blocks, %s: %.4f, second half %.4f of %d requests%n",
                        blocks, policy, whole, share(lines, hits, hits.length / 2), hits.length);
                found.add(whole);
            }
            assertThat(found.get(1)).isGreaterThan(1.05 * found.get(0));
        }
    }
}
