// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The blocks that only the SSD has and that nothing on it follows: those that may go, and which of them is worth least.
 *
 * <p>Worth changes with time and with every request, for thousands of blocks at once, so no order by it is kept. A decision looks at the one that
 * would go by time and at a few at random, and remembers the worst it has seen as candidates: the one with the least worth goes, after it
 * was asked for again. Each sample serves many decisions in this way, which is nearly as good as looking at all.
 *
 * <p>Not safe for threads by itself. Nothing is allocated for a decision.
 */
final class TierLeaves {
    /** What a place for a block is worth: {@link BlockStore#worth}. */
    @FunctionalInterface
    interface Worth {
        /** More is better; compares with others of the same moment only. */
        double of(BlockKey block, long lastUseNanos);
    }

    /** A block that may be among them. */
    abstract static class Leaf {
        /** When it was last used, as far as the SSD knows: when memory gave it up. */
        long lastUseNanos;

        private int at = NOWHERE;
        private boolean candidate;
        private double worth;

        abstract BlockKey key();
    }

    private static final int NOWHERE = -1;
    private static final int CANDIDATES = 16;
    private static final int SAMPLES = 4;
    private static final int FRESH = 4;
    /** A candidate whose worth has risen makes place for the next one so many times. */
    private static final int LOOKS = 3;

    private final Worth worth;
    private final SplittableRandom random = new SplittableRandom(7);
    private final List<Leaf> leaves = new ArrayList<>();
    private final Leaf[] candidates = new Leaf[CANDIDATES];
    private int candidateCount;
    /** Those that came last, which are likely to be worth little: what memory gave up, and what followed by nothing since the last decision. */
    private final Leaf[] fresh = new Leaf[FRESH];

    private int freshNext;
    private int freshCount;

    TierLeaves(Worth worth) {
        this.worth = worth;
    }

    double worth(BlockKey block, long lastUseNanos) {
        return worth.of(block, lastUseNanos);
    }

    /** Puts {@code leaf} among them, or takes it out. */
    void set(Leaf leaf, boolean among) {
        if (among && leaf.at == NOWHERE) {
            leaf.at = leaves.size();
            leaves.add(leaf);
            fresh[freshNext] = leaf;
            freshNext = (freshNext + 1) % FRESH;
            freshCount = Math.min(freshCount + 1, FRESH);
        } else if (!among && leaf.at != NOWHERE) {
            Leaf last = leaves.remove(leaves.size() - 1);
            if (last != leaf) {
                leaves.set(leaf.at, last);
                last.at = leaf.at;
            }
            leaf.at = NOWHERE;
            dropCandidate(leaf);
        }
    }

    boolean has(Leaf leaf) {
        return leaf.at != NOWHERE;
    }

    /**
     * The one to go, which stays among them; null when there is none.
     *
     * @param oldest the one that would go by time, if it is one of them
     */
    @Nullable
    Leaf least(@Nullable Leaf oldest) {
        if (leaves.isEmpty()) {
            return null;
        }
        if (oldest != null && has(oldest)) {
            offer(oldest);
        }
        for (int i = 1; i <= freshCount; i++) {
            Leaf leaf = fresh[(freshNext + FRESH - i) % FRESH];
            if (has(leaf)) {
                offer(leaf);
            }
        }
        freshCount = 0;
        for (int i = 0; i < SAMPLES; i++) {
            offer(leaves.get(random.nextInt(leaves.size())));
        }
        Leaf least = leastCandidate();
        for (int i = 0; i < LOOKS; i++) {
            ask(least);
            Leaf now = leastCandidate();
            if (now == least) {
                break;
            }
            least = now;
        }
        return least;
    }

    /** What {@code leaf} was worth when it was asked for last. */
    static double lastWorth(Leaf leaf) {
        return leaf.worth;
    }

    private void ask(Leaf leaf) {
        leaf.worth = worth.of(leaf.key(), leaf.lastUseNanos);
    }

    private void offer(Leaf leaf) {
        ask(leaf);
        if (leaf.candidate) {
            return;
        }
        int place = candidateCount;
        if (candidateCount == CANDIDATES) {
            place = 0;
            for (int i = 1; i < CANDIDATES; i++) {
                place = isLess(candidates[place], candidates[i]) ? i : place;
            }
            if (!isLess(leaf, candidates[place])) {
                return;
            }
            candidates[place].candidate = false;
        } else {
            candidateCount++;
        }
        candidates[place] = leaf;
        leaf.candidate = true;
    }

    private Leaf leastCandidate() {
        Leaf least = candidates[0];
        for (int i = 1; i < candidateCount; i++) {
            least = isLess(candidates[i], least) ? candidates[i] : least;
        }
        return least;
    }

    /** Blocks of one worth go by time. */
    private static boolean isLess(Leaf one, Leaf other) {
        return one.worth < other.worth || one.worth == other.worth && one.lastUseNanos < other.lastUseNanos;
    }

    private void dropCandidate(Leaf leaf) {
        for (int i = 0; leaf.candidate && i < candidateCount; i++) {
            if (candidates[i] == leaf) {
                candidates[i] = candidates[--candidateCount];
                leaf.candidate = false;
            }
        }
    }
}
