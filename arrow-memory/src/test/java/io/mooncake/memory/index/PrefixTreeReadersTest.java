// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Linearizability of look-ups beside a writer: whatever a reader found must be what plain maps find in at least one of the states that the
 * tree had between the look-up's call and its return. The tree is small and never rests, so that nodes and slots are reused all the time.
 */
class PrefixTreeReadersTest {
    private static final int B = 4;
    private static final int BLOCKS = 5;
    private static final int PROMPTS = 24;
    private static final int READERS = 2;
    private static final int MAX_READS = 40_000;

    /** A change: blocks of a prompt that were added, or the block that went. */
    private record Change(int[] tokens, long[] added, long removed) {}

    /** What a reader saw, and the states that it may be of. */
    private record Read(int[] tokens, int from, int to, List<Long> ids, int partialTokens, long partialId) {}

    private final List<Change> changes = new ArrayList<>();
    private volatile int started;
    private volatile int done;
    private volatile boolean stop;

    @Test
    void match_besideWriter_isOfOneMoment() throws Exception {
        SplittableRandom random = Seeds.random("match_besideWriter_isOfOneMoment");
        boolean met = false;
        long end = System.nanoTime() + 60_000_000_000L;
        // Once, unless the machine was so busy that no change came into a read.
        while (!met && System.nanoTime() < end) {
            changes.clear();
            List<Read> reads = run(random, PrefixTree.Checks.ALL, Seeds.count(1500, 30_000));
            met = reads.stream().anyMatch(read -> read.to() > read.from());
            assertThat(wrong(reads)).isEmpty();
        }
        assertThat(met).as("reads that a change came into").isTrue();
    }

    /** The same without versions: readers find what never was. */
    @Test
    void match_versionsOff_findsWhatNeverWas() throws Exception {
        int wrong = 0;
        long end = System.nanoTime() + 60_000_000_000L;
        while (wrong == 0 && System.nanoTime() < end) {
            SplittableRandom random = Seeds.random("match_versionsOff_findsWhatNeverWas");
            changes.clear();
            wrong = wrong(run(random, new PrefixTree.Checks(true, false), 300)).size();
        }
        assertThat(wrong).as("wrong reads").isPositive();
    }

    private List<Read> run(SplittableRandom random, PrefixTree.Checks checks, int millis) throws Exception {
        PrefixTree tree = new PrefixTree(B, 10, 60, false, -1, checks);
        PrefixTree.Root root = tree.root(new BlockKey(1, 2, 3, 4));
        int[][] prompts = new int[PROMPTS][];
        for (int i = 0; i < PROMPTS; i++) {
            prompts[i] = random.ints(B * BLOCKS, 0, 2).toArray();
            if (i > 0) {
                System.arraycopy(prompts[random.nextInt(i)], 0, prompts[i], 0, random.nextInt(B * BLOCKS));
            }
        }
        started = 0;
        done = 0;
        stop = false;
        List<List<Read>> reads = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < READERS; i++) {
            List<Read> own = new ArrayList<>();
            SplittableRandom its = random.split();
            reads.add(own);
            threads.add(new Thread(() -> read(tree, root, prompts, its, own), "reader-" + i));
        }
        threads.forEach(Thread::start);
        long end = System.nanoTime() + millis * 1_000_000L;
        PrefixMatch match = new PrefixMatch();
        while (System.nanoTime() < end && changes.size() < 200_000) {
            change(tree, root, prompts[random.nextInt(PROMPTS)], random, match);
        }
        stop = true;
        for (Thread thread : threads) {
            thread.join(60_000);
            assertThat(thread.isAlive()).isFalse();
        }
        return reads.stream().flatMap(List::stream).toList();
    }

    private void change(
            PrefixTree tree, PrefixTree.Root root, int[] prompt, SplittableRandom random, PrefixMatch match) {
        int number = changes.size() + 1;
        tree.longestPrefixMatch(root, prompt, number, match);
        if (match.blocks() == 0 || random.nextInt(5) < 2) {
            int[] tokens = Arrays.copyOf(prompt, B * (1 + random.nextInt(BLOCKS)));
            long[] ids = new long[tokens.length / B];
            Arrays.setAll(ids, i -> number * 10L + i);
            started = number;
            PrefixTree.Inserted inserted = tree.insert(root, tokens, ids, number);
            changes.add(new Change(tokens, Arrays.copyOf(ids, inserted.existing() + inserted.added()), 0));
        } else {
            int last = match.blocks() - 1;
            started = number;
            boolean removed = tree.remove(match.position(last), match.id(last)).removed();
            changes.add(new Change(Arrays.copyOf(prompt, B * (last + 1)), new long[0], removed ? match.id(last) : 0));
        }
        done = number;
    }

    private void read(
            PrefixTree tree, PrefixTree.Root root, int[][] prompts, SplittableRandom random, List<Read> reads) {
        PrefixMatch match = new PrefixMatch();
        for (int i = 0; !stop; i++) {
            int[] prompt = prompts[random.nextInt(PROMPTS)];
            int from = done;
            tree.longestPrefixMatch(root, prompt, 0, match);
            int to = started;
            // Of the reads that no change came into, a few are enough.
            if (reads.size() < MAX_READS && (to > from || i % 64 == 0)) {
                List<Long> ids = new ArrayList<>();
                for (int block = 0; block < match.blocks(); block++) {
                    ids.add(match.id(block));
                }
                long partial = match.partialTokens() > 0 ? match.id(match.blocks()) : 0;
                reads.add(new Read(prompt, from, to, ids, match.partialTokens(), partial));
            }
        }
    }

    /** The reads that fit none of their states. */
    private List<Read> wrong(List<Read> reads) {
        List<Read> waiting = new ArrayList<>(reads);
        waiting.sort(Comparator.comparingInt(Read::from));
        TreeOracle oracle = new TreeOracle(B);
        List<Read> open = new ArrayList<>();
        List<Read> wrong = new ArrayList<>();
        int next = 0;
        for (int state = 0; state <= changes.size(); state++) {
            if (state > 0) {
                apply(oracle, changes.get(state - 1));
            }
            int now = state;
            while (next < waiting.size() && waiting.get(next).from() <= now) {
                open.add(waiting.get(next++));
            }
            open.removeIf(read -> fits(oracle.find(read.tokens()), read));
            open.stream().filter(read -> read.to() <= now).forEach(wrong::add);
            open.removeIf(read -> read.to() <= now);
        }
        System.out.println(reads.size() + " reads, " + changes.size() + " changes, " + wrong.size() + " wrong");
        return wrong;
    }

    private static void apply(TreeOracle oracle, Change change) {
        if (change.added().length > 0) {
            oracle.insert(change.tokens(), change.added());
        } else if (change.removed() != 0) {
            oracle.remove(
                    new TreeOracle.Block(TreeOracle.prefix(change.tokens(), change.tokens().length), change.removed()));
        }
    }

    private static boolean fits(TreeOracle.Found found, Read read) {
        return found.ids().equals(read.ids())
                && found.partialTokens() == read.partialTokens()
                && (read.partialTokens() == 0 || found.partial().contains(read.partialId()));
    }
}
