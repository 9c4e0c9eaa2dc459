// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import io.mooncake.benchmarks.prefix.PrefixBench.Figure;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.block.ChainKeys;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;

/** Measures one workload: builds the contenders' trees, then looks up in them in turns. */
final class PrefixRounds {
    private static final int LONG_CALLS = 32;
    private static final int SHORT_CALLS = 2_048;
    private static final int MISS_BATCH = 128;
    private static final int BUILDS = 3;
    private static final int KEY_BLOCKS = 512;

    private final Workload workload;
    private final int warmUps;
    private final int rounds;
    private final int millis;
    private final Map<Figure, Map<String, List<Double>>> figures = new EnumMap<>(Figure.class);
    private final List<Contender> contenders = new ArrayList<>();
    private TreeContender ours;

    PrefixRounds(Workload workload, int warmUps, int rounds, int millis) {
        this.workload = workload;
        this.warmUps = warmUps;
        this.rounds = rounds;
        this.millis = millis;
        ours = tree(false);
    }

    private TreeContender tree(boolean withKeys) {
        return new TreeContender(workload.blocks() + TreeWriter.SPARE_BLOCKS, withKeys);
    }

    /** Figures by contender, one value a round. */
    Map<Figure, Map<String, List<Double>>> figures() {
        return figures;
    }

    /** What the tree looks like. */
    Map<String, Object> shape() {
        return Map.of(
                "blocks", workload.blocks(),
                "nodes", ours.tree.nodeCount(),
                "prompts", workload.inserts().size(),
                "bytes", ours.memoryBytes());
    }

    private void note(Figure figure, Contender contender, double value) {
        figures.computeIfAbsent(figure, first -> new LinkedHashMap<>())
                .computeIfAbsent(contender.name(), first -> new ArrayList<>())
                .add(value);
    }

    /** Builds every contender's tree some times, and keeps the last. */
    void build() {
        List<long[]> ids = new ArrayList<>();
        double given = 0;
        for (int[] prompt : workload.inserts()) {
            long[] own = new long[prompt.length / Workload.BLOCK_TOKENS];
            Arrays.setAll(own, i -> i);
            ids.add(own);
            given += (double) own.length * Workload.BLOCK_TOKENS;
        }
        List<IntFunction<Contender>> kinds = List.of(
                round -> tree(false),
                round -> new ChainedHashContender(workload.blocks()),
                round -> new RadixPortContender());
        for (int round = -Math.min(1, warmUps); round < Math.min(BUILDS, rounds); round++) {
            contenders.clear();
            for (IntFunction<Contender> kind : kinds) {
                long start = System.nanoTime();
                Contender contender = kind.apply(round);
                for (int i = 0; i < ids.size(); i++) {
                    contender.insert(workload.inserts().get(i), ids.get(i));
                }
                double micros = (System.nanoTime() - start) / 1e3;
                contenders.add(contender);
                if (round >= 0) {
                    note(Figure.INSERT, contender, given / micros);
                    note(Figure.INSERT_NEW, contender, (double) workload.blocks() * Workload.BLOCK_TOKENS / micros);
                }
            }
        }
        ours = (TreeContender) contenders.get(0);
        note(Figure.MEMORY, ours, ours.memoryBytes() / (4.0 * Workload.BLOCK_TOKENS * ours.tree.size()));
    }

    /** The three kinds of look-up, contenders in turns. */
    void lookUps() {
        for (int round = -warmUps; round < rounds; round++) {
            List<Contender> turns = new ArrayList<>(contenders);
            Collections.rotate(turns, round);
            for (Contender contender : turns) {
                double longs = median(contender, workload.longs(), LONG_CALLS, 1, Workload.LONG);
                double shorts = median(contender, workload.shorts(), SHORT_CALLS, 1, Workload.SHORT);
                double misses = median(contender, workload.misses(), SHORT_CALLS, MISS_BATCH, 1);
                if (round >= 0) {
                    note(Figure.LONG, contender, longs);
                    note(Figure.SHORT, contender, shorts);
                    note(Figure.MISS, contender, misses);
                }
            }
        }
    }

    /** Median microseconds of a call; prompts are taken in turn, so that none stays in the near caches. */
    private static double median(Contender contender, List<int[]> prompts, int calls, int batch, int expected) {
        double[] micros = new double[calls / batch];
        int next = 0;
        for (int i = 0; i < micros.length; i++) {
            long start = System.nanoTime();
            int matched = 0;
            for (int j = 0; j < batch; j++) {
                matched = contender.match(prompts.get(next));
                next = next + 1 == prompts.size() ? 0 : next + 1;
            }
            micros[i] = (System.nanoTime() - start) / 1e3 / batch;
            if (batch == 1 ? matched != expected : matched > expected) {
                throw new IllegalStateException(
                        contender.name() + ": " + matched + " tokens matched (expected: " + expected + ")");
            }
        }
        Arrays.sort(micros);
        return micros[micros.length / 2];
    }

    /**
     * One reader alone and beside a writer that never rests, in turns. Once by the clock, which also counts the time that the reader waits for a
     * processor, and once by the reader's time on a processor, which other programs of the machine disturb less.
     */
    void readerBesideWriter() throws InterruptedException {
        TreeWriter writer = new TreeWriter(ours, workload.shorts());
        TreeContender reader = new TreeContender(ours);
        for (int round = -Math.min(1, warmUps); round < rounds; round++) {
            double[] alone = readFor(reader);
            AtomicBoolean stop = new AtomicBoolean();
            long before = writer.tokens();
            Thread thread = new Thread(() -> writer.run(stop), "writer");
            thread.start();
            long start = System.nanoTime();
            double[] beside = readFor(reader);
            stop.set(true);
            thread.join(60_000);
            double micros = (System.nanoTime() - start) / 1e3;
            if (round >= 0) {
                note(Figure.BESIDE_WRITER, ours, beside[0] / alone[0]);
                note(Figure.BESIDE_WRITER_PROCESSOR, ours, beside[1] / alone[1]);
                note(Figure.WRITER, ours, (writer.tokens() - before) / micros);
            }
        }
    }

    /** Tokens matched, half of them of long prompts: a nanosecond by the clock, and a nanosecond of processor time. */
    private double[] readFor(TreeContender reader) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long processor = threads.getCurrentThreadCpuTime();
        long start = System.nanoTime();
        long end = start + millis * 1_000_000L;
        long tokens = 0;
        long now = start;
        for (int i = 0; now < end; i++) {
            tokens += reader.match(workload.longs().get(i % workload.longs().size()));
            for (int j = 0; j < Workload.LONG / Workload.SHORT; j++) {
                tokens += reader.match(
                        workload.shorts().get((i * 37 + j) % workload.shorts().size()));
            }
            now = System.nanoTime();
        }
        processor = threads.getCurrentThreadCpuTime() - processor;
        return new double[] {(double) tokens / (now - start), (double) tokens / processor};
    }

    /** Keys of blocks that are in the tree, read by the walk, and of new ones, computed. */
    void keys() {
        contenders.clear(); // makes room
        TreeContender keyed = tree(true);
        for (int[] prompt : workload.longs()) {
            keyed.insert(prompt, new long[prompt.length / Workload.BLOCK_TOKENS]);
        }
        ChainKeys keys = new ChainKeys();
        int blocks = Workload.LONG / Workload.BLOCK_TOKENS;
        for (int round = -warmUps; round < rounds; round++) {
            double found = 1e3 * median(keyed, workload.longs(), LONG_CALLS, 1, Workload.LONG) / blocks;
            double[] nanos = new double[LONG_CALLS];
            int sum = 0;
            for (int i = 0; i < nanos.length; i++) {
                int[] prompt = workload.longs().get(i % workload.longs().size());
                long start = System.nanoTime();
                sum += chain(keys, keyed.root.key(), prompt).hashCode();
                nanos[i] = (double) (System.nanoTime() - start) / KEY_BLOCKS;
            }
            Arrays.sort(nanos);
            double made = nanos[nanos.length / 2];
            if (round >= 0 && sum != 0) {
                note(Figure.KEYS_FOUND, keyed, found);
                note(Figure.KEYS_MADE, keyed, made);
            }
        }
    }

    /** Computes the keys of the first {@link #KEY_BLOCKS} blocks; the last one. */
    private static BlockKey chain(ChainKeys keys, BlockKey root, int[] prompt) {
        return keys.chain(root, prompt, 0, Workload.BLOCK_TOKENS, KEY_BLOCKS)[KEY_BLOCKS - 1];
    }
}
