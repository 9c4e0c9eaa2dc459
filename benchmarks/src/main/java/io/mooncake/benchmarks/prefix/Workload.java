// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.index.PrefixTree;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Prompts that fill a tree, and prompts to look up in it.
 *
 * @param name of the kind
 * @param blocks different ones in all
 * @param inserts what is inserted, in order
 * @param longs prompts of {@link #LONG} tokens that are in the tree whole
 * @param shorts prompts of {@link #SHORT} tokens that are
 * @param misses prompts of {@link #MISS} tokens whose first block is not
 */
record Workload(
        String name, int blocks, List<int[]> inserts, List<int[]> longs, List<int[]> shorts, List<int[]> misses) {
    static final int BLOCK_TOKENS = 16;
    static final int VOCABULARY = 128_256;
    static final int LONG = 131_072;
    static final int SHORT = 4_096;
    static final int MISS = 1_024;

    private static final int LONGS = 8;
    private static final int SHORTS = 512;
    /** Few enough for the near cache: a prompt that comes has just been made. */
    private static final int MISSES = 256;
    /** Tokens that one id of a trace stands for. */
    private static final int TRACE_TOKENS = 512;

    /**
     * A trace's requests, their ids expanded to tokens, with eight conversations among them that grow to {@link #LONG} tokens: each turn adds
     * the new part of a request of the trace, and is answered twice, so that a branch stays behind.
     *
     * @param blocks about how many different blocks to make
     */
    static Workload ofTrace(String name, List<TraceRequest> requests, int blocks, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Blocks known = new Blocks(blocks);
        List<int[]> inserts = new ArrayList<>();
        List<int[]> shorts = new ArrayList<>();
        int[][] talks = new int[LONGS][0];
        int answer = -1;
        for (TraceRequest request : requests) {
            int[] prompt = tokens(request);
            if (known.full()) {
                break;
            }
            known.add(prompt, inserts);
            if (prompt.length >= SHORT) {
                shorts.add(Arrays.copyOf(prompt, SHORT));
            }
            int talk = random.nextInt(LONGS);
            int[] before = talks[talk];
            if (before.length < LONG && prompt.length > TRACE_TOKENS) {
                int[] turn = Arrays.copyOf(before, Math.min(LONG, before.length + prompt.length - TRACE_TOKENS));
                System.arraycopy(prompt, TRACE_TOKENS, turn, before.length, turn.length - before.length);
                known.add(turn, inserts);
                talks[talk] = turn;
                int[] other = Arrays.copyOf(turn, turn.length + TRACE_TOKENS);
                fill(other, turn.length, other.length, answer--);
                known.add(other, inserts);
            }
        }
        List<int[]> longs = finish(talks, known, inserts, random);
        return new Workload(name, known.count(), inserts, longs, some(shorts, random), misses(shorts, random));
    }

    /** The talks that are long enough, the others filled up. */
    private static List<int[]> finish(int[][] talks, Blocks known, List<int[]> inserts, SplittableRandom random) {
        List<int[]> longs = new ArrayList<>();
        for (int[] talk : talks) {
            int[] whole = talk;
            while (whole.length < LONG) {
                int before = whole.length;
                whole = Arrays.copyOf(whole, Math.min(LONG, before + 1000 + random.nextInt(8000)));
                for (int i = before; i < whole.length; i++) {
                    whole[i] = random.nextInt(VOCABULARY);
                }
                known.add(whole, inserts);
            }
            longs.add(whole);
        }
        return longs;
    }

    /**
     * Random prompts that part from each other at random tokens: long ones that others leave every 1,024 tokens or so, and short ones
     * that others leave every 110 tokens or so, for 2 to 32 blocks each.
     */
    static Workload branching(int blocks, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Blocks known = new Blocks(blocks);
        List<int[]> inserts = new ArrayList<>();
        List<int[]> longs = new ArrayList<>();
        for (int i = 0; i < LONGS && !known.full(); i++) {
            int[] prompt = random.ints(LONG, 0, VOCABULARY).toArray();
            known.add(prompt, inserts);
            longs.add(prompt);
            for (int at = random.nextInt(2048); at < LONG; at += 1 + random.nextInt(2048)) {
                known.add(leave(prompt, at, 32 + random.nextInt(64), random), inserts);
            }
        }
        List<int[]> shorts = new ArrayList<>();
        while (!known.full()) {
            int[] prompt;
            if (shorts.size() < 2 * SHORTS || random.nextInt(50) == 0) {
                prompt = random.ints(SHORT, 0, VOCABULARY).toArray();
                shorts.add(prompt);
            } else {
                prompt = shorts.get(random.nextInt(shorts.size()));
                prompt = leave(prompt, random.nextInt(SHORT), BLOCK_TOKENS * (2 + random.nextInt(31)), random);
                if (prompt.length >= SHORT) {
                    shorts.add(Arrays.copyOf(prompt, SHORT));
                }
            }
            known.add(prompt, inserts);
        }
        return new Workload("branching", known.count(), inserts, longs, some(shorts, random), misses(shorts, random));
    }

    private static int[] leave(int[] prompt, int at, int more, SplittableRandom random) {
        int[] other = Arrays.copyOf(prompt, at + more);
        for (int i = at; i < other.length; i++) {
            other[i] = random.nextInt(VOCABULARY);
        }
        return other;
    }

    private static List<int[]> some(List<int[]> prompts, SplittableRandom random) {
        List<int[]> some = new ArrayList<>();
        for (int i = 0; i < SHORTS; i++) {
            some.add(prompts.get(random.nextInt(prompts.size())));
        }
        return some;
    }

    /** Half of them with a first token that is in the tree. */
    private static List<int[]> misses(List<int[]> prompts, SplittableRandom random) {
        List<int[]> misses = new ArrayList<>();
        for (int i = 0; i < MISSES; i++) {
            int[] miss = random.ints(MISS, 0, VOCABULARY).toArray();
            if (i % 2 == 0) {
                miss[0] = prompts.get(random.nextInt(prompts.size()))[0];
            }
            misses.add(miss);
        }
        return misses;
    }

    private static int[] tokens(TraceRequest request) {
        int[] tokens = new int[Math.min(request.inputTokens(), TRACE_TOKENS * request.hashIds().length)];
        for (int i = 0; i < request.hashIds().length; i++) {
            int from = i * TRACE_TOKENS;
            fill(tokens, from, Math.min(tokens.length, from + TRACE_TOKENS), request.hashIds()[i]);
        }
        return tokens;
    }

    /** The tokens that {@code id} stands for, always the same. */
    private static void fill(int[] tokens, int from, int end, int id) {
        SplittableRandom random = new SplittableRandom(id);
        for (int i = from; i < end; i++) {
            tokens[i] = random.nextInt(VOCABULARY);
        }
    }

    /** Counts different blocks by putting them into a tree. */
    private static final class Blocks {
        private final int most;
        private final PrefixTree tree;
        private final PrefixTree.Root root;

        Blocks(int most) {
            this.most = most;
            tree = PrefixTree.create(BLOCK_TOKENS, VOCABULARY, most + 2 * LONGS * LONG / BLOCK_TOKENS);
            root = tree.root(new BlockKey(0, 0, 0, 0));
        }

        int count() {
            return tree.size();
        }

        boolean full() {
            return tree.size() >= most;
        }

        void add(int[] prompt, List<int[]> inserts) {
            if (prompt.length >= BLOCK_TOKENS) {
                tree.insert(root, prompt, new long[prompt.length / BLOCK_TOKENS], 0);
                inserts.add(prompt);
            }
        }
    }
}
