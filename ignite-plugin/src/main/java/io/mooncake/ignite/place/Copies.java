// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.place.PlaceFrame.Outcome;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.transfer.topology.Locality;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Makes one more copy of blocks of this node: chooses who gets it, offers, waits, and tries another node where the first took none.
 *
 * <p>Threading: safe for all threads; {@link #copy} blocks.
 */
final class Copies {
    private static final int TRIES = 3;
    /** One node that does not answer must not use up the time of the others. */
    private static final long TRY_MILLIS = 2_000;

    private static final long GRACE_NANOS = 1_000_000_000;
    /** A slow network's bytes a millisecond, for more time with more to pull. */
    private static final long BYTES_A_MILLI = 50_000;

    private final NodeServices services;
    private final StoreReports reports;
    private final Offers offers;

    Copies(NodeServices services, StoreReports reports, Offers offers) {
        this.services = services;
        this.reports = reports;
        this.offers = offers;
    }

    /**
     * What became of blocks.
     *
     * @param nodes where each is now; null where nobody took it
     * @param later how many this node could not give at the moment, because its SSD did not bring them up in time
     */
    record Copied(@Nullable UUID[] nodes, int later) {}

    /**
     * Copies {@code keys} to one node, or what it does not take to the next.
     *
     * @param keys 1..{@value PlaceFrameDescriptor#MAX_BLOCKS}, parents before children
     * @param except nodes that have them already
     */
    Copied copy(String pool, String tenant, List<BlockKey> keys, Set<UUID> except, Deadline deadline)
            throws InterruptedException {
        @Nullable UUID[] taken = new UUID[keys.size()];
        Set<UUID> tried = new HashSet<>(except);
        List<Integer> left = new ArrayList<>();
        for (int i = 0; i < taken.length; i++) {
            left.add(i);
        }
        int later = 0;
        for (int attempt = 0; attempt < TRIES && !left.isEmpty() && !deadline.expired(); attempt++) {
            Optional<Member> target = target(pool, except, tried);
            if (target.isEmpty()) {
                break;
            }
            UUID node = target.get().nodeId();
            tried.add(node);
            List<BlockKey> offered = left.stream().map(keys::get).toList();
            Deadline one = deadline.atMost(patience(pool, offered.size()));
            List<Outcome> outcomes = await(offers.offer(target.get(), pool, tenant, offered, one), one, offered.size());
            List<Integer> refused = new ArrayList<>();
            for (int i = 0; i < outcomes.size(); i++) {
                if (outcomes.get(i).held()) {
                    taken[left.get(i)] = node;
                } else if (outcomes.get(i) == Outcome.GONE) {
                    later++;
                } else {
                    refused.add(left.get(i));
                }
            }
            left = refused;
        }
        return new Copied(taken, later);
    }

    private Duration patience(String pool, int blocks) {
        LocalKvPool local = services.localPools().get(pool);
        long bytes = local == null ? 0 : (long) blocks * local.layout().payloadBytes();
        return Duration.ofMillis(TRY_MILLIS + bytes / BYTES_A_MILLI);
    }

    private List<Outcome> await(CompletableFuture<List<Outcome>> answer, Deadline deadline, int blocks)
            throws InterruptedException {
        try {
            return services.waits().await(answer, deadline.remainingNanos() + GRACE_NANOS);
        } catch (ExecutionException | TimeoutException e) {
            return Collections.nCopies(blocks, Outcome.FAILED);
        }
    }

    /** Whether any node but {@code except} takes copies for {@code pool}. */
    boolean possible(String pool, Set<UUID> except) {
        return services.members().all().stream()
                .anyMatch(member -> reports.takes(member, pool) && !except.contains(member.nodeId()));
    }

    /** Whether a node that takes copies for {@code pool} has free blocks, or has not said. */
    boolean roomSomewhere(String pool) {
        return services.members().all().stream()
                .filter(member -> reports.takes(member, pool))
                .anyMatch(member -> reports.of(member.nodeId())
                        .map(report -> report.freeShare() > 0.01)
                        .orElse(true));
    }

    private Optional<Member> target(String pool, Set<UUID> holding, Set<UUID> tried) {
        List<Member> members = services.members().all();
        List<Locality> holders = members.stream()
                .filter(member -> member.local() || holding.contains(member.nodeId()))
                .map(Member::locality)
                .toList();
        List<TargetChoice.Candidate> candidates = new ArrayList<>();
        for (Member member : members) {
            if (reports.takes(member, pool) && !tried.contains(member.nodeId())) {
                StoreReport report = reports.of(member.nodeId())
                        // Nothing heard of it yet: it has just come, or its report was lost.
                        .orElse(new StoreReport(member.nodeId(), false, false, 0, 0, 0));
                boolean otherHost = holders.stream()
                        .noneMatch(holder -> holder.to(member.locality()) == Locality.Closeness.SAME_HOST);
                candidates.add(
                        new TargetChoice.Candidate(member.nodeId(), report.freeShare(), report.ageMillis(), otherHost));
            }
        }
        return TargetChoice.choose(candidates, services.random())
                .flatMap(node -> services.members().find(node));
    }
}
