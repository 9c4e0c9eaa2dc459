// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.random.RandomGenerator;

/**
 * Which node gets a copy: of two drawn at random the one with more room. Nodes on another host than the copies that there are go first. A node that
 * has just started is drawn less often until it is {@value #FULL_AGE_MILLIS} ms old, or everything would go to the empty newcomer at once.
 *
 * <p>Source: the power of two choices (Mitzenmacher, 2001), with slow start as in load balancers. A pure function of its arguments.
 */
final class TargetChoice {
    static final long FULL_AGE_MILLIS = 60_000;
    /** A newborn's share of a full weight. */
    private static final double LEAST_WEIGHT = 1.0 / 60;

    private TargetChoice() {}

    /**
     * A node that may take a copy.
     *
     * @param node its id
     * @param freeShare share of its blocks that are free
     * @param ageMillis how long it has been running
     * @param otherHost whether none of the copies is on its host
     */
    record Candidate(UUID node, double freeShare, long ageMillis, boolean otherHost) {}

    /** The chosen one; empty when there are none. */
    static Optional<UUID> choose(List<Candidate> candidates, RandomGenerator random) {
        boolean apart = candidates.stream().anyMatch(Candidate::otherHost);
        List<Candidate> left = new ArrayList<>(candidates.stream()
                .filter(candidate -> !apart || candidate.otherHost())
                .toList());
        if (left.isEmpty()) {
            return Optional.empty();
        }
        Candidate first = draw(left, random);
        if (left.isEmpty()) {
            return Optional.of(first.node());
        }
        Candidate second = draw(left, random);
        return Optional.of((second.freeShare() > first.freeShare() ? second : first).node());
    }

    /** Draws one by weight and takes it out. */
    private static Candidate draw(List<Candidate> left, RandomGenerator random) {
        double sum = left.stream().mapToDouble(TargetChoice::weight).sum();
        double point = random.nextDouble() * sum;
        int index = 0;
        while (index < left.size() - 1 && point >= weight(left.get(index))) {
            point -= weight(left.get(index));
            index++;
        }
        return left.remove(index);
    }

    private static double weight(Candidate candidate) {
        return Math.max(LEAST_WEIGHT, Math.min(1, (double) candidate.ageMillis() / FULL_AGE_MILLIS));
    }
}
