// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Question;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgniteInClosure;
import org.apache.ignite.plugin.extensions.communication.Message;
import org.apache.ignite.spi.IgniteSpiContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ignite's messages between servers, over the engine: a lane for each peer and direction (docs/adr/0013-ignite-messages.md). Clients, and
 * peers that have not turned this on, are Ignite's TCP's business.
 *
 * <p>Threading: safe for all threads. Ownership: of the lanes and their memory; the engine is the SPI's and closes later.
 */
public final class EngineMessages implements AutoCloseable {
    /** Node attribute: {@code "1"} where a server takes messages over the engine. */
    public static final String ATTRIBUTE = "mooncake.messages";

    /** Value of {@link #ATTRIBUTE}. */
    public static final String VERSION = "1";

    private static final Logger LOG = LoggerFactory.getLogger(EngineMessages.class);
    private static final long CHECK_MILLIS = 100;
    private static final long FLUSH_NANOS = 300_000_000L;
    private static final long READ_MILLIS = 5_000;
    private static final long PATIENCE_NANOS = 3_000_000_000L;

    private final LaneContext context;
    private final Map<UUID, OutgoingLane> outgoing = new ConcurrentHashMap<>();
    private final Map<UUID, IncomingLane> incoming = new ConcurrentHashMap<>();
    private volatile boolean closed;

    /** Ignite's own way, which the SPI's parent is. */
    public interface Stock {
        /** Sends by TCP; what it throws was not sent. */
        void send(ClusterNode node, Message message, @Nullable IgniteInClosure<IgniteException> ack);

        /** Hands a message to Ignite. */
        void deliver(UUID from, Message message);
    }

    /**
     * Lanes for a node whose SPI has its context.
     *
     * @param engine must not have been given to another one before
     */
    public EngineMessages(TransferEngine engine, IgniteSpiContext ignite, Stock stock) {
        context = new LaneContext(engine, ignite, stock, ignite.localNode().id(), READ_MILLIS, PATIENCE_NANOS);
        context.every(CHECK_MILLIS, this::check);
        engine.control().handle(LaneContext.SERVICE, this::answer);
    }

    /** Takes the message to {@code node} when it goes over the engine; false when it is Ignite's own business. */
    public boolean send(ClusterNode node, Message message, @Nullable IgniteInClosure<IgniteException> ack) {
        // Ignite's TCP refuses what goes to a node that has left, and its callers wait for that.
        if (closed || context.ignite.node(node.id()) == null) {
            return false;
        }
        OutgoingLane lane = outgoing.get(node.id());
        if (lane == null) {
            PeerAddress peer = TransferCommunicationSpi.endpointOf(node);
            if (peer == null || node.isLocal() || node.isClient() || !VERSION.equals(node.attribute(ATTRIBUTE))) {
                return false;
            }
            lane = outgoing.computeIfAbsent(node.id(), id -> new OutgoingLane(context, node, peer));
        }
        lane.send(message, ack);
        return true;
    }

    /** Looks at a message that came by TCP; whether it is ours, or one that came over the engine before. */
    public boolean arrived(UUID from, Message message) {
        SwitchMark mark = SwitchMark.of(message);
        if (mark != null) {
            IncomingLane lane = incomingLane(from);
            if (lane == null) {
                LOG.error("{} of node {}, which nobody knows", mark, from);
            } else {
                lane.marked(mark);
            }
            return true;
        }
        IncomingLane lane = incoming.get(from);
        return lane != null && lane.skips();
    }

    private @Nullable IncomingLane incomingLane(UUID node) {
        IncomingLane known = incoming.get(node);
        if (known != null) {
            return known;
        }
        ClusterNode from = context.ignite.node(node);
        PeerAddress peer = from == null ? null : TransferCommunicationSpi.endpointOf(from);
        return peer == null || closed
                ? null
                : incoming.computeIfAbsent(node, id -> new IncomingLane(context, id, peer));
    }

    private byte[] answer(UUID from, byte[] payload) {
        ByteBuffer body = LaneFrameDescriptor.open(payload);
        Question question = LaneFrameDescriptor.question(body);
        ClusterNode node = context.ignite.node(question.node());
        if (closed || node == null) {
            return LaneFrameDescriptor.answer(LaneFrameDescriptor.NOT_READY, 0, 0);
        }
        PeerAddress peer = TransferCommunicationSpi.endpointOf(node);
        if (peer == null || !peer.incarnation().equals(from)) {
            throw new MooncakeException(
                    MooncakeException.Code.PEER_REFUSED, "node " + question.node() + " is another engine's");
        }
        if (question.kind() == LaneFrameDescriptor.PROGRESS) {
            int filled = LaneFrameDescriptor.filled(body);
            OutgoingLane lane = outgoing.get(question.node());
            if (lane != null) {
                context.work(() -> lane.progressed(question.epoch(), question.sequence(), filled));
            }
        } else if (question.kind() != LaneFrameDescriptor.PING) {
            IncomingLane lane = incomingLane(question.node());
            if (lane == null) {
                return LaneFrameDescriptor.answer(LaneFrameDescriptor.NOT_READY, 0, 0);
            }
            return question.kind() == LaneFrameDescriptor.BATCH
                    ? lane.batch(question, LaneFrameDescriptor.messages(body))
                    : lane.piece(question, LaneFrameDescriptor.piece(body));
        }
        return LaneFrameDescriptor.answer(LaneFrameDescriptor.TAKEN, 0, 0);
    }

    private void check() {
        outgoing.forEach((id, lane) -> {
            if (context.ignite.node(id) == null) {
                outgoing.remove(id, lane);
                context.work(() -> {
                    lane.nodeLeft();
                    lane.close();
                });
            } else {
                lane.check();
            }
        });
        incoming.forEach((id, lane) -> {
            if (context.ignite.node(id) == null) {
                incoming.remove(id, lane);
                context.read(lane::close);
            }
        });
    }

    /** Counters since the start. */
    public MessageStatistics statistics() {
        return context.statistics();
    }

    /** Lets what is under way arrive for a moment, then ends everything. Idempotent. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        long until = System.nanoTime() + FLUSH_NANOS;
        while (outgoing.values().stream().anyMatch(lane -> lane.waiting() > 0) && System.nanoTime() - until < 0) {
            try {
                TimeUnit.MILLISECONDS.sleep(5);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                break;
            }
        }
        context.close();
        outgoing.values().forEach(OutgoingLane::close);
        incoming.values().forEach(IncomingLane::close);
    }
}
