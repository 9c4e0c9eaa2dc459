// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import java.util.concurrent.CompletionStage;

/**
 * Small messages between engines over ZeroMQ: requests with replies, work notices that one side pushes and the other pulls, and published
 * events; over TCP, over Unix domain sockets within a machine, and within the process to the engine itself. Peers prove that they know the
 * cluster's secret before a byte of theirs is interpreted. Payloads are opaque byte arrays of at most {@link #MAX_PAYLOAD_BYTES}; no object
 * is ever deserialised.
 */
public interface ControlPlane {
    /** Largest payload of a request, reply or event. */
    int MAX_PAYLOAD_BYTES = 4 << 20;

    /** The service that answers lives which were declared over, too, and that can be asked of them: it tells whether they are. */
    String LIFE_SERVICE = "mooncake.life";

    /**
     * Registers the handler of requests to {@code service} (1..32 ASCII characters), once a name. Handlers run on control threads and may
     * be called concurrently; what they throw reaches the caller as PEER_REFUSED with the message.
     */
    void handle(String service, RequestHandler handler);

    /**
     * Sends a request.
     *
     * @return completed exceptionally with a MooncakeException: DEADLINE_EXCEEDED, PEER_UNREACHABLE, PEER_REFUSED, or STALE when another
     *     incarnation answers
     */
    CompletionStage<byte[]> request(PeerAddress peer, String service, byte[] payload, Deadline deadline);

    /**
     * Pushes a work notice into {@code queue} (1..32 ASCII characters) of {@code peer}. It waits there until a thread is free for it, so who
     * pushes waits while the peer is behind. None comes twice; they begin in order, several at a time.
     *
     * @return completed when a thread of the peer has it, whatever becomes of the work; exceptionally with DEADLINE_EXCEEDED or
     *     PEER_UNREACHABLE, after which it may have come or come yet, PEER_REFUSED where nobody pulls, STALE, or EXHAUSTED when too much waits there
     */
    CompletionStage<Void> push(PeerAddress peer, String queue, byte[] payload, Deadline deadline);

    /**
     * Registers who takes the notices that peers push into {@code queue}, once a name. Called on threads for work alone, several at a time: when
     * it is slow, who pushes waits, and no request does. What it throws is counted and logged here.
     */
    void pull(String queue, WorkHandler handler);

    /** Takes work notices. */
    @FunctionalInterface
    interface WorkHandler {
        /** @param from incarnation of the engine that pushed it, authenticated */
        void handle(java.util.UUID from, byte[] payload);
    }

    /** Publishes {@code payload} to every subscriber of {@code topic} (1..32 ASCII characters). Lossy for slow subscribers: number your events. */
    void publish(String topic, byte[] payload);

    /** Subscribes to {@code topic} of {@code peer}; events come in order, one at a time for each subscription. */
    Subscription subscribe(PeerAddress peer, String topic, EventListener listener);

    /** Answers requests. */
    @FunctionalInterface
    interface RequestHandler {
        /**
         * @param from incarnation of the asking engine, authenticated
         * @param payload the request
         * @return the reply
         */
        byte[] handle(java.util.UUID from, byte[] payload);
    }

    /** Receives events. */
    @FunctionalInterface
    interface EventListener {
        void onEvent(byte[] payload);
    }

    /** Ends a subscription; idempotent. After close returns, the listener is not called any more. */
    interface Subscription extends AutoCloseable {
        @Override
        void close();
    }
}
