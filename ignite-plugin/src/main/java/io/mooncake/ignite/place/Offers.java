// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.place.PlaceFrame.Answer;
import io.mooncake.ignite.place.PlaceFrame.Offer;
import io.mooncake.ignite.place.PlaceFrame.Outcome;
import io.mooncake.memory.BlockKey;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Offers blocks of this node to others and waits for their answers. An offer that is not answered in time, or whose node leaves, has failed for all of its
 * blocks; an answer that comes later is ignored, and what was pulled stays where it is.
 *
 * <p>Threading: safe for all threads.
 */
final class Offers implements Members.Listener {
    static final String OFFERS = "mooncake.offer";
    static final String ANSWERS = "mooncake.answer";
    private static final Logger LOG = LoggerFactory.getLogger(Offers.class);

    private final NodeServices services;
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, Pending> pending = new ConcurrentHashMap<>();

    private record Pending(UUID node, UUID incarnation, int blocks, CompletableFuture<List<Outcome>> answer) {}

    Offers(NodeServices services) {
        this.services = services;
    }

    void start() {
        services.engine().control().handle(ANSWERS, this::answered);
        services.members().addListener(this);
    }

    /**
     * Offers {@code keys} to {@code target}.
     *
     * @param keys 1..{@value PlaceFrameDescriptor#MAX_BLOCKS}, parents before children
     * @return one outcome a key, by the deadline; never exceptionally
     */
    CompletableFuture<List<Outcome>> offer(
            Member target, String pool, String tenant, List<BlockKey> keys, Deadline deadline) {
        List<Outcome> failed = Collections.nCopies(keys.size(), Outcome.FAILED);
        if (services.fenced()) {
            return CompletableFuture.completedFuture(failed);
        }
        long number = numbers.incrementAndGet();
        int millis = (int) Math.min(Integer.MAX_VALUE, deadline.remainingMillis());
        CompletableFuture<List<Outcome>> answer = new CompletableFuture<>();
        pending.put(number, new Pending(target.nodeId(), target.address().incarnation(), keys.size(), answer));
        byte[] frame =
                PlaceFrameDescriptor.encode(new Offer(number, services.localNodeId(), pool, tenant, millis, keys));
        try {
            services.engine()
                    .control()
                    .push(target.address(), OFFERS, frame, deadline)
                    .whenComplete((sent, error) -> {
                        if (error != null) {
                            LOG.debug("Offer to {} not sent: {}", target.nodeId(), error.toString());
                            answer.complete(failed);
                        }
                    });
        } catch (MooncakeException e) {
            answer.complete(failed);
        }
        if (services.members().find(target.nodeId()).isEmpty()) {
            // It left before the offer was noted down, and nobody would say so again.
            answer.complete(failed);
        }
        failLater(answer, failed, millis);
        return answer.whenComplete((outcomes, error) -> pending.remove(number));
    }

    private void failLater(CompletableFuture<List<Outcome>> answer, List<Outcome> failed, long millis) {
        try {
            Future<?> timer = services.scheduler()
                    .schedule(() -> answer.complete(failed), Math.max(1, millis), TimeUnit.MILLISECONDS);
            answer.whenComplete((outcomes, error) -> timer.cancel(false));
        } catch (RejectedExecutionException e) {
            // The node stops.
            answer.complete(failed);
        }
    }

    private byte[] answered(UUID from, byte[] payload) {
        if (PlaceFrameDescriptor.decode(payload) instanceof Answer answer) {
            Pending asked = pending.get(answer.number());
            if (asked != null
                    && asked.incarnation.equals(from)
                    && asked.blocks == answer.outcomes().size()) {
                asked.answer.complete(answer.outcomes());
            }
        }
        return new byte[0];
    }

    @Override
    public void onLeft(Member member) {
        for (Pending asked : pending.values()) {
            if (asked.node.equals(member.nodeId())) {
                asked.answer.complete(Collections.nCopies(asked.blocks, Outcome.FAILED));
            }
        }
    }
}
