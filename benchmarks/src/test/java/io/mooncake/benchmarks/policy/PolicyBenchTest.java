// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.benchmarks.Bench;
import io.mooncake.benchmarks.policy.Trace.TraceRequest;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PolicyBenchTest {
    private static final double ROUNDING = 0.00005;

    @TempDir
    private Path folder;

    private static Trace published(String name) throws IOException {
        String data = System.getenv("MOONCAKE_TEST_DATA");
        Path file = data == null ? Path.of("none") : Path.of(data, "traces", "mooncake_" + name + "_trace.jsonl");
        assumeTrue(
                Files.isReadable(file),
                "MOONCAKE_TEST_DATA: " + data + " (expected: a folder with traces/" + file.getFileName() + ")");
        return Trace.read(file);
    }

    /** The figures that are published for these traces: so requests are read and hits counted as elsewhere. */
    @Test
    void replay_publishedTraces_givesTheKnownFigures() throws IOException {
        Trace conversation = published("conversation");
        assertThat(Replay.of(conversation, PlainLru.hits(conversation, 10_000), 0, 0)
                        .whole())
                .isCloseTo(0.2112, within(ROUNDING));
        assertThat(Replay.of(conversation, OfflineBound.hitsWithoutLimit(conversation), 0, 0)
                        .whole())
                .isCloseTo(0.3664, within(ROUNDING));
        assertThat(Replay.of(conversation, OfflineBound.hits(conversation, 1_000), 0, 0)
                        .whole())
                .isCloseTo(0.1907, within(ROUNDING));
        Trace synthetic = published("synthetic");
        assertThat(Replay.of(synthetic, PlainLru.hits(synthetic, 10_000), 0, 0).whole())
                .isCloseTo(0.4235, within(ROUNDING));
        assertThat(Replay.of(synthetic, OfflineBound.hitsWithoutLimit(synthetic), 0, 0)
                        .whole())
                .isCloseTo(0.6396, within(ROUNDING));
    }

    private static Trace random(SplittableRandom random) {
        List<TraceRequest> requests = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            // Chains in a tree of three ways: the name tells the way.
            long[] blocks = new long[1 + random.nextInt(3)];
            long block = 0;
            for (int at = 0; at < blocks.length; at++) {
                block = 3 * block + 1 + random.nextInt(3);
                blocks[at] = block;
            }
            requests.add(new TraceRequest(1_000L * i, 512 * blocks.length, 10, blocks));
        }
        return new Trace("random", requests, 40);
    }

    /** The most hits of all ways to keep at most {@code room} blocks from each request to the next. */
    private static int best(List<TraceRequest> requests, int at, Set<Long> cached, int room) {
        if (at == requests.size()) {
            return 0;
        }
        long[] blocks = requests.get(at).blocks();
        int hits = 0;
        while (hits < blocks.length && cached.contains(blocks[hits])) {
            hits++;
        }
        Set<Long> all = new HashSet<>(cached);
        Arrays.stream(blocks).forEach(all::add);
        Long[] names = all.toArray(new Long[0]);
        int most = 0;
        for (int choice = 0; choice < 1 << names.length; choice++) {
            if (Integer.bitCount(choice) == Math.min(room, names.length)) {
                Set<Long> kept = new HashSet<>();
                for (int i = 0; i < names.length; i++) {
                    if ((choice >> i & 1) != 0) {
                        kept.add(names[i]);
                    }
                }
                most = Math.max(most, best(requests, at + 1, kept, room));
            }
        }
        return hits + most;
    }

    @Test
    void offlineBound_smallTraces_isTheBestOfAllChoices() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("offlineBound: -Dmooncake.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < 20; i++) {
            Trace trace = random(random);
            List<TraceRequest> requests = trace.requests().subList(0, 5);
            Trace small = new Trace("small", requests, 40);
            int bound = IntStream.of(OfflineBound.hits(small, 2)).sum();
            assertThat(bound).isEqualTo(best(requests, 0, Set.of(), 2));
        }
    }

    @Test
    void run_smallTrace_showsEveryPolicyUnderTheBound() throws IOException {
        SplittableRandom random = new SplittableRandom(7);
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            long[] blocks = random(random).requests().get(i % 12).blocks();
            lines.add("{\"timestamp\": " + 1_000 * i + ", \"input_length\": 900, \"output_length\": 9, \"hash_ids\": "
                    + Arrays.toString(blocks) + "}");
        }
        Path file = Files.write(folder.resolve("small.jsonl"), lines);
        Bench.Settings settings =
                new Bench.Settings(Path.of(""), 0, true, List.of(), List.of(), null, List.of(file), List.of(3, 6));
        BenchmarkReport report = new PolicyBench().run(settings, Terminal.standard());
        assertThat(report.toJson())
                .contains("offline bound")
                .contains("w-tinylfu")
                .contains("return-index");
        assertThat(report.results()).extracting(result -> result.name()).contains("small.jsonl, 3 blocks, whole trace");
        Trace trace = Trace.read(file);
        for (Contestant contestant : Contestant.all()) {
            assertThat(Replay.of(trace, contestant, 6).whole())
                    .as(contestant.family())
                    .isLessThanOrEqualTo(
                            Replay.of(trace, OfflineBound.hits(trace, 6), 0, 0).whole());
        }
    }

    @Test
    void read_lineThatIsNoRequest_isRefusedByItsNumber() throws IOException {
        for (String wrong : List.of(
                "{\"timestamp\": 1}",
                "no json",
                "[]",
                "{\"timestamp\": 1, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": []}")) {
            Path file = Files.write(
                    folder.resolve("wrong.jsonl"),
                    List.of("{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [1]}", wrong));
            assertThatThrownBy(() -> Trace.read(file)).as(wrong).hasMessageContaining("line 2");
        }
    }
}
