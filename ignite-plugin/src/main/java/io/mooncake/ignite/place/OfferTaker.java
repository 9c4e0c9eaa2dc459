// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.place.PlaceFrame.Answer;
import io.mooncake.ignite.place.PlaceFrame.Offer;
import io.mooncake.ignite.place.PlaceFrame.Outcome;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.Tenant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes what other nodes offer: pulls it, verified as every fetch, and answers. Who offers must be the member that it says it is, in its present life.
 *
 * <p>Threading: on the engine's work threads, several at a time; who offers waits while all are busy.
 */
final class OfferTaker {
    private static final Duration JOIN_TIME = Duration.ofSeconds(1);
    private static final long JOIN_LOOK_NANOS = 10_000_000;
    private static final Duration ANSWER_TIME = Duration.ofSeconds(2);
    private static final Logger LOG = LoggerFactory.getLogger(OfferTaker.class);

    private final NodeServices services;
    private final StoreReports reports;

    OfferTaker(NodeServices services, StoreReports reports) {
        this.services = services;
        this.reports = reports;
    }

    void start() {
        services.engine().control().pull(Offers.OFFERS, this::offered);
    }

    private void offered(UUID from, byte[] payload) {
        if (!(PlaceFrameDescriptor.decode(payload) instanceof Offer offer)) {
            throw new MooncakeException(MooncakeException.Code.CORRUPT, "placement frame (expected: an offer)");
        }
        Deadline deadline = services.waits().deadline(Duration.ofMillis(offer.millis()));
        Member holder = member(offer.node(), from, deadline.atMost(JOIN_TIME));
        if (holder == null) {
            // Of a node that has left, or of none: whoever waits for the answer hears from the topology.
            LOG.debug("Offer of {} ignored: no member with engine {}", offer.node(), from);
            return;
        }
        byte[] answer = PlaceFrameDescriptor.encode(new Answer(offer.number(), take(holder, offer)));
        services.engine()
                .control()
                .request(
                        holder.address(),
                        Offers.ANSWERS,
                        answer,
                        services.waits().deadline(ANSWER_TIME))
                .whenComplete((sent, error) -> {
                    if (error != null) {
                        LOG.debug("Answer to {} not sent: {}", offer.node(), error.toString());
                    }
                });
    }

    /** Who offers; it may have joined so lately that this node has not heard of it. */
    private @Nullable Member member(UUID node, UUID incarnation, Deadline deadline) {
        while (true) {
            Member found = services.members().find(node).orElse(null);
            if (found != null && found.address().incarnation().equals(incarnation)) {
                return found;
            }
            if (deadline.expired()) {
                return null;
            }
            try {
                services.waits().pause(JOIN_LOOK_NANOS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return null;
            }
        }
    }

    private List<Outcome> take(Member holder, Offer offer) {
        int count = offer.keys().size();
        if (reports.draining()) {
            return Collections.nCopies(count, Outcome.DRAINING);
        }
        if (services.fenced()) {
            return Collections.nCopies(count, Outcome.FAILED);
        }
        ClusterKvPool pool = services.clusterPools().get(offer.pool());
        if (pool == null) {
            return Collections.nCopies(count, Outcome.UNKNOWN_POOL);
        }
        List<Boolean> before = new ArrayList<>(count);
        for (BlockKey key : offer.keys()) {
            before.add(pool.local().contains(key));
        }
        List<MissReason> reasons = pool.take(
                new Tenant(offer.tenant(), new byte[0]),
                offer.keys(),
                holder.nodeId(),
                holder.address(),
                services.waits().deadline(Duration.ofMillis(offer.millis())));
        List<Outcome> outcomes = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            outcomes.add(outcome(reasons.get(i), before.get(i)));
        }
        return outcomes;
    }

    private static Outcome outcome(MissReason reason, boolean before) {
        return switch (reason) {
            case NONE -> before ? Outcome.EXISTING : Outcome.STORED;
            case NO_MEMORY -> Outcome.NO_ROOM;
            case LEASE_REFUSED, NOT_CACHED -> Outcome.GONE;
            default -> Outcome.FAILED;
        };
    }
}
