// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.Role;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.topology.Locality;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/** Subscriptions follow the membership, also where the engine takes a member's life for over when it is first seen. */
class MemberTopicTest {
    private static final UUID NODE = new UUID(1, 1);

    private final Network network = new Network();
    private final Table members = new Table();
    private final List<String> heard = new ArrayList<>();
    private final MemberTopic topic = new MemberTopic(
            services(), "t", member -> true, (node, bytes) -> heard.add(node + " " + bytes[0]), all -> {});

    @Test
    void sync_memberIsKnownBeforeTheEngineIsTold_isFollowedAllTheSame() {
        topic.start();
        network.gone = true;
        members.all.add(MEMBER);
        // Another event makes the topic look, between the list's change and what is told of it.
        topic.onLeft(OTHER);
        network.gone = false;
        topic.onJoined(MEMBER);

        network.publish((byte) 7);

        assertThat(heard).containsExactly(NODE + " 7");
    }

    @Test
    void sync_memberJoinsAndLeaves_isHeardInBetweenAndOnce() {
        topic.start();
        members.all.add(MEMBER);
        topic.onJoined(MEMBER);
        topic.onLeft(OTHER);
        network.publish((byte) 1);
        members.all.remove(MEMBER);
        topic.onLeft(MEMBER);
        network.publish((byte) 2);

        assertThat(heard).containsExactly(NODE + " 1");
    }

    private static final Member MEMBER = member(NODE);
    private static final Member OTHER = member(new UUID(2, 2));

    private static Member member(UUID node) {
        PeerAddress address = new PeerAddress(node, "127.0.0.1", 1, 2, 3);
        return new Member(node, "node " + node, Role.STORE, address, Map.of(), 1, false, new Locality("", "", ""));
    }

    private NodeServices services() {
        Executor atOnce = Runnable::run;
        Map<String, Object> engine = Map.of("control", network);
        return answering(
                NodeServices.class,
                Map.of("members", members, "workers", atOnce, "engine", answering(TransferEngine.class, engine)));
    }

    /** As much of a wide interface as is asked for here. */
    private static <T> T answering(Class<T> type, Map<String, Object> answers) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    Object answer = answers.get(method.getName());
                    if (answer == null) {
                        throw new UnsupportedOperationException(method.toString());
                    }
                    return answer;
                }));
    }

    private static final class Table implements Members {
        private final List<Member> all = new ArrayList<>();

        @Override
        public List<Member> all() {
            return all;
        }

        @Override
        public Optional<Member> find(UUID nodeId) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void addListener(Listener listener) {}
    }

    /** Subscribes nobody to a peer that it takes for gone, and says nothing, as the engine's does. */
    private static final class Network implements ControlPlane {
        private final Map<Object, EventListener> subscribers = new HashMap<>();
        private boolean gone;

        @Override
        public void publish(String topic, byte[] payload) {
            throw new UnsupportedOperationException(topic);
        }

        void publish(byte event) {
            List.copyOf(subscribers.values()).forEach(each -> each.onEvent(new byte[] {event}));
        }

        @Override
        public Subscription subscribe(PeerAddress peer, String topic, EventListener listener) {
            Object key = new Object();
            if (!gone) {
                subscribers.put(key, listener);
            }
            return () -> subscribers.remove(key);
        }

        @Override
        public void handle(String service, RequestHandler handler) {
            throw new UnsupportedOperationException(service);
        }

        @Override
        public CompletionStage<byte[]> request(PeerAddress peer, String service, byte[] payload, Deadline deadline) {
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
    }
}
