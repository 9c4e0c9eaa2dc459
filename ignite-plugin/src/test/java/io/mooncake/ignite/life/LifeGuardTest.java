// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.life;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.transfer.PeerAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Guards of several nodes with one clock that the test moves, and views of the cluster that the test changes. */
class LifeGuardTest {
    private static final Duration PAUSE = Duration.ofSeconds(5);
    private static final Duration GRACE = Duration.ofSeconds(10);

    private final List<Node> nodes = new ArrayList<>();
    private final List<Runnable> onTheWay = new ArrayList<>();
    private final Set<Node> answersWhileFrozen = new HashSet<>();
    private long now = Long.MAX_VALUE - 1_000_000_000L;

    /** One life of a node. It believes in those of its view. */
    private final class Node implements LifeGuard.Host {
        private final int order;
        private final PeerAddress address;
        private final LifeGuard guard;
        private final Set<Node> view = new HashSet<>();
        private boolean frozen;
        private int ended;
        private boolean everFenced;

        Node(boolean ends) {
            order = nodes.size() + 1;
            address = new PeerAddress(new UUID(1, order), "127.0.0.1", 4711, 4712, 4713);
            guard = new LifeGuard(this, ends, PAUSE, GRACE, () -> now);
            nodes.add(this);
        }

        @Override
        public List<PeerAddress> peers() {
            return view.stream().map(node -> node.address).toList();
        }

        @Override
        public LifeAnswer answer(UUID asker) {
            boolean member =
                    view.stream().anyMatch(node -> node.address.incarnation().equals(asker));
            int oldest = view.stream().mapToInt(node -> node.order).min().orElse(order);
            return new LifeAnswer(member, false, view.size() + 1, Math.min(oldest, order));
        }

        @Override
        public void ask(PeerAddress peer, long round) {
            Node asked = nodes.stream()
                    .filter(node -> node.address.equals(peer))
                    .findFirst()
                    .orElseThrow();
            onTheWay.add(() -> {
                if ((!asked.frozen || answersWhileFrozen.contains(asked)) && asked.ended == 0 && !frozen) {
                    guard.onAnswer(peer, round, asked.guard.answer(address.incarnation()));
                }
            });
        }

        @Override
        public void forget(PeerAddress peer) {}

        @Override
        public void gone(String reason) {
            ended++;
        }

        void loses(Node... others) {
            for (Node other : others) {
                view.remove(other);
                guard.onLeft(other.address);
            }
        }
    }

    private Node[] cluster(int count) {
        Node[] made = new Node[count];
        for (int i = 0; i < count; i++) {
            made[i] = new Node(true);
        }
        for (Node node : made) {
            node.view.addAll(List.of(made));
            node.view.remove(node);
        }
        run(Duration.ofSeconds(1));
        return made;
    }

    private void run(Duration time) {
        for (long left = time.toMillis(); left > 0; left -= LifeGuard.TICK_MILLIS) {
            now += LifeGuard.TICK_MILLIS * 1_000_000L;
            for (Node node : nodes) {
                if (!node.frozen && node.ended == 0) {
                    node.guard.tick();
                }
            }
            List<Runnable> arriving = List.copyOf(onTheWay);
            onTheWay.clear();
            arriving.forEach(Runnable::run);
            for (Node node : nodes) {
                node.everFenced |= !node.frozen && node.guard.fenced();
            }
        }
    }

    private void freeze(Duration time, Node... frozen) {
        for (Node node : frozen) {
            node.frozen = true;
        }
        run(time);
        for (Node node : frozen) {
            node.frozen = false;
        }
    }

    @Test
    void tick_nobodyStandsStill_nobodyIsFenced() {
        Node[] all = cluster(3);
        run(Duration.ofMinutes(2));
        freeze(PAUSE.minusMillis(100), all[1]);
        run(Duration.ofMinutes(1));
        assertThat(all).noneMatch(node -> node.everFenced || node.guard.fences() > 0);
    }

    @Test
    void pause_othersKeptIt_isFencedBeforeAnyTickAndComesBack() {
        Node[] all = cluster(3);
        freeze(PAUSE.plusMillis(100), all[0]);
        assertThat(all[0].guard.fenced()).isTrue();
        assertThat(all[1].guard.fenced() || all[2].guard.fenced()).isFalse();
        run(Duration.ofMillis(200));
        assertThat(all[0].guard.fenced()).isFalse();
        assertThat(all[0].guard.fences()).isEqualTo(1);
    }

    @Test
    void pause_othersDroppedIt_isGoneWithoutAMomentInBetween() {
        for (int size : new int[] {2, 3, 5}) {
            nodes.clear();
            Node[] all = cluster(size);
            all[0].frozen = true;
            run(Duration.ofSeconds(6));
            for (int i = 1; i < size; i++) {
                all[i].loses(all[0]);
            }
            run(Duration.ofSeconds(6));
            all[0].frozen = false;
            // The oldest and, among two, as large as the rest: it was away, and has lost.
            for (int i = 0; i < 60; i++) {
                assertThat(all[0].guard.fenced()).isTrue();
                run(Duration.ofMillis(50));
            }
            assertThat(all[0].ended).isEqualTo(1);
            run(Duration.ofMinutes(1));
            for (int i = 1; i < size; i++) {
                assertThat(all[i].everFenced).as("node %d of %d", i, size).isFalse();
            }
        }
    }

    @Test
    void pause_wholeMachine_everybodyComesBack() {
        Node[] all = cluster(4);
        freeze(Duration.ofMinutes(3), all);
        assertThat(all).allMatch(node -> node.guard.fenced());
        run(Duration.ofSeconds(1));
        assertThat(all).noneMatch(node -> node.guard.fenced() || node.ended > 0);
    }

    @Test
    void pause_alone_isOverWithTheNextTick() {
        Node alone = cluster(1)[0];
        freeze(Duration.ofMinutes(1), alone);
        assertThat(alone.guard.fenced()).isTrue();
        run(Duration.ofMillis(50));
        assertThat(alone.guard.fenced()).isFalse();
    }

    @Test
    void pause_peerIsSilent_comesBackAfterTheGrace() {
        Node[] all = cluster(2);
        all[1].frozen = true;
        freeze(Duration.ofSeconds(6), all[0]);
        run(GRACE.minusMillis(200));
        assertThat(all[0].guard.fenced()).isTrue();
        run(Duration.ofMillis(400));
        assertThat(all[0].guard.fenced()).isFalse();
    }

    @Test
    void split_twoAndThree_theTwoStop() {
        Node[] all = cluster(5);
        for (int i = 0; i < 2; i++) {
            for (int j = 2; j < 5; j++) {
                all[i].loses(all[j]);
                all[j].loses(all[i]);
            }
        }
        run(Duration.ofSeconds(10));
        assertThat(all[0].ended + all[1].ended).isEqualTo(2);
        run(Duration.ofMinutes(1));
        for (int j = 2; j < 5; j++) {
            assertThat(all[j].everFenced).isFalse();
        }
    }

    @Test
    void split_halves_theOldestStays() {
        Node[] all = cluster(2);
        all[0].loses(all[1]);
        all[1].loses(all[0]);
        run(Duration.ofSeconds(10));
        assertThat(all[0].ended).isZero();
        assertThat(all[0].everFenced).isFalse();
        assertThat(all[1].ended).isEqualTo(1);
    }

    @Test
    void lost_peersThatAreDead_change_nothing() {
        Node[] all = cluster(3);
        all[1].frozen = true;
        all[2].frozen = true;
        all[0].loses(all[1], all[2]);
        run(Duration.ofMinutes(5));
        assertThat(all[0].everFenced).isFalse();
    }

    @Test
    void denied_byAViewThatIsBehind_comesBack() {
        Node[] all = cluster(3);
        all[1].view.remove(all[0]);
        all[2].view.remove(all[0]);
        run(Duration.ofSeconds(6));
        assertThat(all[0].guard.fenced()).isTrue();
        all[1].view.add(all[0]);
        all[2].view.add(all[0]);
        run(Duration.ofSeconds(6));
        assertThat(all[0].guard.fenced()).isFalse();
        assertThat(all[0].ended).isZero();
    }

    @Test
    void denied_byAPeerThatStartsOrStops_meansNothing() {
        Node[] all = cluster(2);
        Node starting = new Node(true);
        starting.frozen = true; // answers, as its engine does, but does not tick yet, and has seen nobody
        for (Node node : all) {
            node.view.add(starting);
            node.guard.onJoined(starting.address);
        }
        answersWhileFrozen.add(starting);
        freeze(PAUSE.plusMillis(100), all[0]);
        run(Duration.ofSeconds(8));
        assertThat(all[0].ended + all[1].ended).isZero();
        assertThat(all[1].everFenced).isFalse();
        starting.view.addAll(List.of(all));
        starting.frozen = false;
        run(Duration.ofSeconds(1));
        assertThat(all[0].guard.fenced()).isFalse();

        all[1].guard.close();
        all[1].view.clear();
        all[1].frozen = true;
        answersWhileFrozen.add(all[1]);
        run(Duration.ofSeconds(30));
        assertThat(all[0].guard.fences())
                .as("one of them stops and has forgotten it")
                .isEqualTo(1);
        assertThat(starting.everFenced).isFalse();
    }

    @Test
    void pause_confirmedFirstAndDroppedThen_isGone() {
        Node[] all = cluster(3);
        freeze(PAUSE.plusMillis(100), all[0]);
        all[1].loses(all[0]);
        run(Duration.ofMillis(400));
        all[2].loses(all[0]);
        run(Duration.ofSeconds(5));
        assertThat(all[0].ended).isEqualTo(1);
        assertThat(all[1].everFenced || all[2].everFenced).isFalse();
    }

    @Test
    void pause_droppedJustAfterItWasConfirmed_isFencedAtOnceAndGone() {
        Node[] all = cluster(3);
        freeze(PAUSE.plusMillis(100), all[0]);
        run(Duration.ofMillis(300));
        assertThat(all[0].guard.fenced()).isFalse();
        all[1].loses(all[0]);
        all[2].loses(all[0]);
        run(Duration.ofMillis(500));
        assertThat(all[0].guard.fenced()).isTrue();
        run(Duration.ofSeconds(5));
        assertThat(all[0].ended).isEqualTo(1);
    }

    @Test
    void denied_byOneOfManyForEver_isOverruled() {
        Node[] all = cluster(4);
        all[3].view.remove(all[0]);
        run(GRACE.plusSeconds(30));
        assertThat(all[0].guard.fenced()).isFalse();
        assertThat(all[0].guard.fences()).isEqualTo(1);
        run(Duration.ofMinutes(2));
        assertThat(all[0].guard.fences()).isEqualTo(1);
        assertThat(all[0].ended).isZero();
    }

    @Test
    void pause_peersLeftLongAgo_comesBackSoon() {
        Node[] all = cluster(2);
        all[0].loses(all[1]);
        all[1].frozen = true;
        freeze(Duration.ofSeconds(30), all[0]);
        run(Duration.ofSeconds(6));
        assertThat(all[0].guard.fenced()).isFalse();
    }

    @Test
    void client_isNeverGone_andComesBackWithItsCluster() {
        Node client = new Node(false);
        Node server = new Node(true);
        client.view.add(server);
        run(Duration.ofSeconds(1));
        freeze(Duration.ofSeconds(20), client);
        run(Duration.ofMinutes(1));
        assertThat(client.guard.fenced()).isTrue();
        assertThat(client.ended).isZero();
        server.view.add(client);
        run(Duration.ofSeconds(6));
        assertThat(client.guard.fenced()).isFalse();
    }

    @Test
    void close_noMoreTicks_clockFencesNoMore() {
        Node alone = cluster(1)[0];
        alone.guard.close();
        now += Duration.ofHours(1).toNanos();
        assertThat(alone.guard.fenced()).isFalse();
    }

    @Test
    void frames_roundTripAndRefusals() {
        LifeAnswer answer = new LifeAnswer(true, true, 5, 77);
        byte[] bytes = LifeFrameDescriptor.encode(answer);
        assertThat(HexFormat.of().formatHex(bytes)).isEqualTo("0103" + "00000005" + "000000000000004d");
        assertThat(LifeFrameDescriptor.decode(Arrays.copyOf(bytes, 20))).isEqualTo(answer);
        for (byte[] wrong : List.of(new byte[0], new byte[13], new byte[14])) {
            assertThatThrownBy(() -> LifeFrameDescriptor.decode(wrong)).hasMessageContaining("life answer");
        }
        bytes[2] = -1;
        assertThatThrownBy(() -> LifeFrameDescriptor.decode(bytes)).hasMessageContaining("servers");
    }
}
