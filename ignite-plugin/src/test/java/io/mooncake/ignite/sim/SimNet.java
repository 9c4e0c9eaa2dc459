// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.Waits;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.SimEngine;
import io.mooncake.transfer.tcp.GonePeers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * What is between the processes: messages that are late, lost or doubled, ways that are cut in one direction, reads that are slow. Every process has a place; the one that
 * runs there now gets what is sent to it, whichever life was meant.
 */
final class SimNet {
    static final long MILLI = 1_000_000L;

    private final SimLoop loop;
    private final Random random;
    private final Host[] hosts;
    private final long[][] cutUntil;
    private final double loss;
    private final double doubled;
    private final SimFaults faults;
    private final List<Subscriber> subscribers = new ArrayList<>();
    private boolean quiet;

    private record Subscriber(Host by, int place, String topic, ControlPlane.EventListener listener) {}

    SimNet(SimLoop loop, Random random, int places, SimFaults faults) {
        this.loop = loop;
        this.random = random;
        this.faults = faults;
        hosts = new Host[places];
        cutUntil = new long[places][places];
        loss = random.nextDouble() * 0.15;
        doubled = random.nextDouble() * 0.3;
    }

    static PeerAddress address(int place, UUID incarnation) {
        return new PeerAddress(incarnation, "127.0.0.1", 1 + place, 10 + place, 20 + place);
    }

    private static int place(PeerAddress address) {
        return address.controlPort() - 10;
    }

    /** No loss and no long way from now on. */
    void calm() {
        quiet = true;
    }

    /** Nothing gets from one place to the other for a while; the other way goes on. */
    void cut(int from, int to, long nanos) {
        cutUntil[from][to] = loop.now() + nanos;
    }

    private boolean passes(int from, int to) {
        return quiet || loop.now() >= cutUntil[from][to];
    }

    private boolean arrives(int from, int to) {
        return quiet || passes(from, to) && random.nextDouble() >= loss;
    }

    private long delay() {
        int most = quiet ? 2 : random.nextInt(10) == 0 ? 500 : 10;
        return random.nextInt(1 + most * 1_000) * 1_000L;
    }

    /** One process's end of it. */
    final class Host implements ControlPlane {
        private final int place;
        private final UUID incarnation;
        private final SimLoop.Life life;
        private final GonePeers gone;
        private final Waits waits;
        private final Map<String, RequestHandler> handlers = new HashMap<>();
        private final Map<String, WorkHandler> queues = new HashMap<>();
        private @Nullable SimEngine engine;

        Host(int place, UUID incarnation, SimLoop.Life life, GonePeers gone, Waits waits) {
            this.place = place;
            this.incarnation = incarnation;
            this.life = life;
            this.gone = gone;
            this.waits = waits;
        }

        /** Takes its place. */
        void up(SimEngine own) {
            engine = own;
            hosts[place] = this;
        }

        @Override
        public void handle(String service, RequestHandler handler) {
            if (handlers.put(service, handler) != null) {
                throw new IllegalStateException(service + " is handled twice");
            }
        }

        @Override
        public void pull(String queue, WorkHandler handler) {
            queues.put(queue, handler);
        }

        @Override
        public CompletionStage<byte[]> request(PeerAddress peer, String service, byte[] payload, Deadline deadline) {
            int target = SimNet.place(peer);
            CompletableFuture<byte[]> reply = begin(peer, deadline);
            for (int copies = !quiet && random.nextDouble() < doubled ? 2 : 1; copies > 0; copies--) {
                if (!reply.isDone() && arrives(place, target)) {
                    loop.after(delay(), null, false, () -> {
                        Host host = hosts[target];
                        if (host != null) {
                            loop.after(0, host.life, false, () -> host.answer(this, peer, service, payload, reply));
                        }
                    });
                }
            }
            return reply;
        }

        private <T> CompletableFuture<T> begin(PeerAddress peer, Deadline deadline) {
            CompletableFuture<T> reply = new CompletableFuture<>();
            if (gone.contains(peer.incarnation())) {
                fail(reply, MooncakeException.Code.PEER_UNREACHABLE, "gone");
            } else {
                loop.after(
                        deadline.remainingNanos(),
                        life,
                        false,
                        () -> fail(reply, MooncakeException.Code.DEADLINE_EXCEEDED, "no answer in time"));
            }
            return reply;
        }

        private void fail(CompletableFuture<?> reply, MooncakeException.Code code, String message) {
            if (!reply.isDone()) {
                reply.completeExceptionally(new MooncakeException(code, message));
            }
        }

        /** On the asked process. */
        private void answer(
                Host from, PeerAddress meant, String service, byte[] payload, CompletableFuture<byte[]> reply) {
            if (gone.contains(from.incarnation)) {
                return;
            }
            RequestHandler handler = handlers.get(service);
            Runnable end;
            if (!meant.incarnation().equals(incarnation)) {
                end = () -> from.fail(reply, MooncakeException.Code.STALE, "another life");
            } else if (handler == null) {
                end = () -> from.fail(reply, MooncakeException.Code.PEER_REFUSED, "nobody answers");
            } else {
                end = answer(handler, from, payload, reply);
            }
            if (arrives(place, from.place)) {
                loop.after(delay(), from.life, false, end);
            }
        }

        private Runnable answer(RequestHandler handler, Host from, byte[] payload, CompletableFuture<byte[]> reply) {
            try {
                byte[] answer = handler.handle(from.incarnation, payload.clone());
                return () -> reply.complete(answer);
            } catch (MooncakeException e) {
                return () -> from.fail(reply, MooncakeException.Code.PEER_REFUSED, String.valueOf(e.getMessage()));
            }
        }

        @Override
        public CompletionStage<Void> push(PeerAddress peer, String queue, byte[] payload, Deadline deadline) {
            int target = SimNet.place(peer);
            CompletableFuture<Void> taken = begin(peer, deadline);
            if (!taken.isDone() && arrives(place, target)) {
                loop.after(delay(), null, false, () -> {
                    Host host = hosts[target];
                    if (host != null
                            && host.incarnation.equals(peer.incarnation())
                            && !host.gone.contains(incarnation)) {
                        WorkHandler handler = host.queues.get(queue);
                        loop.after(delay(), life, false, () -> {
                            if (handler == null) {
                                fail(taken, MooncakeException.Code.PEER_REFUSED, "nobody pulls");
                            } else {
                                taken.complete(null);
                            }
                        });
                        if (handler != null) {
                            loop.after(0, host.life, true, () -> host.work(this, handler, payload.clone()));
                        }
                    }
                });
            }
            return taken;
        }

        private void work(Host from, WorkHandler handler, byte[] payload) {
            try {
                handler.handle(from.incarnation, payload);
            } catch (MooncakeException e) {
                // Counted and logged by the shipped one.
                loop.note(e.code().ordinal());
            }
        }

        @Override
        public void publish(String topic, byte[] payload) {
            for (Subscriber subscriber : List.copyOf(subscribers)) {
                if (subscriber.place == place && subscriber.topic.equals(topic) && !subscriber.by.life.dead()) {
                    for (int copies = !quiet && random.nextDouble() < doubled ? 2 : 1; copies > 0; copies--) {
                        if (arrives(place, subscriber.by.place)) {
                            loop.after(delay(), subscriber.by.life, false, () -> {
                                if (subscribers.contains(subscriber)) {
                                    subscriber.listener.onEvent(payload);
                                }
                            });
                        }
                    }
                }
            }
        }

        @Override
        public Subscription subscribe(PeerAddress peer, String topic, EventListener listener) {
            Subscriber subscriber = new Subscriber(this, SimNet.place(peer), topic, listener);
            subscribers.add(subscriber);
            return () -> subscribers.removeIf(one -> one == subscriber);
        }

        /** This process's way to the memory of others. */
        SimEngine.Wire wire(boolean incarnationCheck) {
            return new SimEngine.Wire() {
                @Override
                public @Nullable SimEngine reach(PeerAddress peer, Deadline deadline) {
                    int target = SimNet.place(peer);
                    pause(delay());
                    while (!deadline.expired() && (!passes(place, target) || !passes(target, place) || still(target))) {
                        pause(Math.min(deadline.remainingNanos(), 20 * MILLI));
                    }
                    Host host = hosts[target];
                    boolean there = host != null
                            && !host.life.dead()
                            && (!incarnationCheck || host.incarnation.equals(peer.incarnation()));
                    return there ? host.engine : null;
                }

                @Override
                public boolean piece(PeerAddress peer) {
                    int target = SimNet.place(peer);
                    Host before = hosts[target];
                    pause(!quiet && random.nextInt(6) == 0 ? random.nextInt(2_500) * MILLI : delay() / 4);
                    return before != null && hosts[target] == before && !before.life.dead() && passes(target, place);
                }

                @Override
                public void damage(byte[] bytes) {
                    if (faults.damages() && !quiet && random.nextInt(20) == 0) {
                        bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
                    }
                }
            };
        }

        private boolean still(int target) {
            Host host = hosts[target];
            return host != null && host.life.pausedAt(loop.now());
        }

        private void pause(long nanos) {
            try {
                waits.pause(nanos);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
