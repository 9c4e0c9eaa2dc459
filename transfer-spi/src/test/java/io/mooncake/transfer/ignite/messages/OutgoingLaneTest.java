// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferEngine;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgniteInClosure;
import org.apache.ignite.plugin.extensions.communication.Message;
import org.apache.ignite.plugin.extensions.communication.MessageFormatter;
import org.apache.ignite.plugin.extensions.communication.MessageReader;
import org.apache.ignite.plugin.extensions.communication.MessageWriter;
import org.apache.ignite.spi.IgniteSpiContext;
import org.junit.jupiter.api.Test;

/** When a lane gives its messages to TCP, and when not, by a peer that answers as the test says. */
final class OutgoingLaneTest {
    private static final UUID NODE = new UUID(1, 2);
    private static final PeerAddress PEER = new PeerAddress(new UUID(3, 4), "127.0.0.1", 1, 2, 3);
    private static final int LARGE = 200_000;
    private static final long READ_MILLIS = 1_000;
    private static final long PATIENCE_NANOS = 500_000_000;

    private final List<Message> byTcp = new CopyOnWriteArrayList<>();
    private final AtomicInteger asked = new AtomicInteger();

    private static byte[] reading() {
        return LaneFrameDescriptor.answer(LaneFrameDescriptor.READING, 0, 0);
    }

    private static byte[] taken() {
        return LaneFrameDescriptor.answer(LaneFrameDescriptor.TAKEN, 0, 1);
    }

    /** One question that failed, and news of the reading that got lost later: the lane asks again, for the peer answered in between. */
    @Test
    void send_questionFailsThenProgressIsLost_staysWithTheEngine() {
        MessageStatistics end = send(number -> number == 0 ? null : number == 1 ? reading() : taken());

        assertThat(end.takeovers()).isZero();
        assertThat(end.sent()).isEqualTo(1);
        assertThat(asked).hasValue(3);
    }

    @Test
    void send_peerReadsAndNeverHasRead_goesByTcp() {
        MessageStatistics end = send(number -> number == 0 ? null : reading());

        assertThat(end.takeovers()).isEqualTo(1);
        await(() -> byTcp.stream().anyMatch(LargeMessage.class::isInstance));
    }

    /** Sends a large message; the counters when it was confirmed or given to TCP. Null is a question that fails. */
    private MessageStatistics send(IntFunction<byte[]> answers) {
        Map<String, Object> engine = Map.of(
                "control",
                new Answers(answers),
                "registerMemory",
                1,
                "issueHandle",
                new RemoteHandle(5, 6, 64, LaneMemory.BYTES, false, 7, new byte[] {1, 2, 3, 4}),
                "unregisterMemory",
                true);
        MessageWriter writer = passive(MessageWriter.class, Map.of());
        MessageFormatter formatter = new MessageFormatter() {
            @Override
            public MessageWriter writer(UUID node) {
                return writer;
            }

            @Override
            public MessageReader reader(
                    UUID node, org.apache.ignite.plugin.extensions.communication.MessageFactory factory) {
                throw new UnsupportedOperationException();
            }
        };
        try (LaneContext context = new LaneContext(
                passive(TransferEngine.class, engine),
                passive(IgniteSpiContext.class, Map.of("messageFormatter", formatter)),
                new Tcp(),
                new UUID(5, 6),
                READ_MILLIS,
                PATIENCE_NANOS)) {
            OutgoingLane lane = new OutgoingLane(context, passive(ClusterNode.class, Map.of("id", NODE)), PEER);
            lane.send(new LargeMessage(), null);
            await(() -> context.statistics().sent() + context.statistics().takeovers() > 0);
            MessageStatistics end = context.statistics();
            if (end.takeovers() > 0) {
                await(() -> lane.waiting() == 0);
            }
            lane.close();
            return end;
        }
    }

    private static void await(BooleanSupplier condition) {
        Deadline patience = Deadline.ofMillis(60_000);
        while (!condition.getAsBoolean()) {
            assertThat(patience.expired()).isFalse();
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** As much of a wide interface as is asked for here; the rest does nothing. */
    private static <T> T passive(Class<T> type, Map<String, Object> answers) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (self, method, arguments) -> answers.get(method.getName())));
    }

    private final class Tcp implements EngineMessages.Stock {
        @Override
        public void send(ClusterNode node, Message message, IgniteInClosure<IgniteException> ack) {
            byTcp.add(message);
        }

        @Override
        public void deliver(UUID from, Message message) {
            throw new UnsupportedOperationException();
        }
    }

    private final class Answers implements ControlPlane {
        private final IntFunction<byte[]> answers;

        Answers(IntFunction<byte[]> answers) {
            this.answers = answers;
        }

        @Override
        public CompletionStage<byte[]> request(PeerAddress peer, String service, byte[] payload, Deadline deadline) {
            byte[] answer = answers.apply(asked.getAndIncrement());
            return answer == null
                    ? CompletableFuture.failedFuture(
                            new MooncakeException(MooncakeException.Code.PEER_UNREACHABLE, "on purpose"))
                    : CompletableFuture.completedFuture(answer);
        }

        @Override
        public void handle(String service, RequestHandler handler) {
            throw new UnsupportedOperationException(service);
        }

        @Override
        public CompletionStage<Void> push(PeerAddress peer, String queue, byte[] payload, Deadline deadline) {
            throw new UnsupportedOperationException(queue);
        }

        @Override
        public void pull(String queue, WorkHandler handler) {
            throw new UnsupportedOperationException(queue);
        }

        @Override
        public void publish(String topic, byte[] payload) {
            throw new UnsupportedOperationException(topic);
        }

        @Override
        public Subscription subscribe(PeerAddress peer, String topic, EventListener listener) {
            throw new UnsupportedOperationException(topic);
        }
    }

    /** Too long for a batch. */
    private static final class LargeMessage implements Message {
        private static final long serialVersionUID = 1L;
        private int written;

        @Override
        public boolean writeTo(ByteBuffer into, MessageWriter writer) {
            int count = Math.min(into.remaining(), LARGE - written);
            into.put(new byte[count]);
            written += count;
            return written == LARGE;
        }

        @Override
        public boolean readFrom(ByteBuffer from, MessageReader reader) {
            throw new UnsupportedOperationException();
        }

        @Override
        public short directType() {
            return 1;
        }

        @Override
        public byte fieldsCount() {
            return 1;
        }

        @Override
        public void onAckReceived() {}
    }
}
