// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class PrefillChoiceTest {
    private static final long BYTES_PER_TOKEN = 46_080;
    private static final UUID A = new UUID(0, 1);
    private static final UUID B = new UUID(0, 2);
    private static final UUID C = new UUID(0, 3);
    private static final UUID ROUTER = new UUID(9, 9);

    private final PrefillRequest request = new PrefillRequest(1_100, 1_088, BYTES_PER_TOKEN);

    @Test
    void choose_idleNodes_longestPrefixWins() {
        TtftEstimate choice = choose(idle(A, 64), idle(B, 1_024), idle(C, 512));

        assertThat(choice.node()).isEqualTo(B);
        assertThat(choice.localTokens()).isEqualTo(1_024);
        assertThat(choice.computeTokens()).isEqualTo(76);
        assertThat(choice.fetchTokens()).isZero();
    }

    @Test
    void choose_holderIsBusy_idleNodeFetches() {
        TtftEstimate choice = choose(new Candidate(load(A, 3, 3_000, 300, 1e9), 1_024), idle(B, 0));

        assertThat(choice.node()).isEqualTo(B);
        assertThat(choice.fetchTokens()).isEqualTo(1_024);
        assertThat(choice.bestTokens()).isEqualTo(1_024);
        assertThat(choice.computeTokens()).isEqualTo(76);
    }

    @Test
    void choose_holderIsLittleBusy_holderWins() {
        // 10 queued tokens cost 33 ms, the fetch of 1,024 tokens 48 ms.
        assertThat(choose(new Candidate(load(A, 1, 10, 300, 1e9), 1_024), idle(B, 0))
                        .node())
                .isEqualTo(A);
    }

    @Test
    void estimate_belowBreakEvenBandwidth_recomputes() {
        double breakEven = BYTES_PER_TOKEN * 300.0;
        TtftEstimate slow = estimate(new Candidate(load(A, 0, 0, 300, breakEven * 0.9), 0), idle(B, 1_024));
        TtftEstimate fast = estimate(new Candidate(load(A, 0, 0, 300, breakEven * 1.1), 0), idle(B, 1_024));

        assertThat(slow.fetchTokens()).isZero();
        assertThat(slow.computeTokens()).isEqualTo(1_100);
        assertThat(fast.fetchTokens()).isEqualTo(1_024);
        assertThat(fast.ttftNanos()).isLessThan(slow.ttftNanos());
    }

    @Test
    void estimate_matchBeyondReusable_isCut() {
        TtftEstimate estimate = estimate(idle(A, 1_100));

        assertThat(estimate.localTokens()).isEqualTo(1_088);
        assertThat(estimate.computeTokens()).isEqualTo(12);
    }

    @Test
    void choose_slowNodeHoldsPrefix_fastNodeMayWin() {
        Candidate slow = new Candidate(load(A, 0, 0, 20, 1e9), 1_024);
        Candidate fast = new Candidate(load(B, 0, 0, 2_000, 1e9), 0);

        assertThat(choose(slow, fast).node()).isEqualTo(B);
    }

    @Test
    void choose_noCandidates_isRefused() {
        assertThatThrownBy(this::choose).isInstanceOf(MooncakeException.class).hasMessageContaining("candidates: 0");
    }

    @Test
    void dispatch_equalNodes_rotate() {
        Conductor conductor = new Conductor(new ClusterState(ROUTER), ConductorSettings.DEFAULT);
        Map<UUID, Integer> matches = Map.of(A, 0, B, 0, C, 0);
        List<UUID> chosen = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Conductor.Dispatch dispatch = conductor.dispatch(request, matches, null);
            chosen.add(dispatch.estimate().node());
            dispatch.ticket().close();
        }

        assertThat(chosen).containsExactly(A, B, C, A, B, C);
    }

    @Test
    void preview_repeated_changesNothing() {
        Conductor conductor = new Conductor(new ClusterState(ROUTER), ConductorSettings.DEFAULT);
        Map<UUID, Integer> matches = Map.of(A, 0, B, 0);

        assertThat(conductor.preview(request, matches, null)).isEqualTo(conductor.preview(request, matches, null));
    }

    @Test
    void dispatch_forcedNode_isUsedThoughWorse() {
        Conductor conductor = new Conductor(new ClusterState(ROUTER), ConductorSettings.DEFAULT);

        Conductor.Dispatch dispatch = conductor.dispatch(request, Map.of(A, 1_024, B, 0), B);

        assertThat(dispatch.estimate().node()).isEqualTo(B);
        assertThat(dispatch.estimate().bestTokens()).isEqualTo(1_024);
        assertThatThrownBy(() -> conductor.dispatch(request, Map.of(A, 0), C))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining(C.toString());
    }

    @Test
    void dispatch_burstOfOnePrefix_spreadsOverIdleNodes() {
        Conductor conductor = new Conductor(new ClusterState(ROUTER), ConductorSettings.DEFAULT);
        Map<UUID, Integer> matches = new LinkedHashMap<>(Map.of(A, 1_024, B, 0, C, 0));
        Map<UUID, Integer> counts = new HashMap<>();
        for (int i = 0; i < 30; i++) {
            counts.merge(conductor.dispatch(request, matches, null).estimate().node(), 1, Integer::sum);
        }

        assertThat(counts.keySet()).isEqualTo(Set.of(A, B, C));
        assertThat(counts.values()).allMatch(count -> count <= 20, "none more than twice its share");
    }

    @Test
    void dispatch_emptyNodeJoins_isNotSwamped() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("mooncake.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        Conductor conductor = new Conductor(new ClusterState(ROUTER), ConductorSettings.DEFAULT);
        int nodes = 8;
        int requests = 400;
        Map<UUID, Integer> counts = new HashMap<>();
        for (int i = 0; i < requests; i++) {
            Map<UUID, Integer> matches = new HashMap<>();
            for (int n = 0; n < nodes; n++) {
                matches.put(new UUID(1, n), n == 0 ? 0 : 64 * random.nextInt(17));
            }
            counts.merge(conductor.dispatch(request, matches, null).estimate().node(), 1, Integer::sum);
        }

        assertThat(counts.getOrDefault(new UUID(1, 0), 0)).isLessThanOrEqualTo(2 * requests / nodes);
    }

    private TtftEstimate choose(Candidate... candidates) {
        return PrefillChoice.choose(request, List.of(candidates), ConductorSettings.DEFAULT);
    }

    private TtftEstimate estimate(Candidate... candidates) {
        return PrefillChoice.estimate(request, List.of(candidates), ConductorSettings.DEFAULT)
                .get(0);
    }

    private static Candidate idle(UUID node, int matched) {
        return new Candidate(NodeLoad.idle(node), matched);
    }

    private static NodeLoad load(UUID node, int inFlight, long tokens, double speed, double bandwidth) {
        return new NodeLoad(node, inFlight, tokens, speed, bandwidth, 0, 0);
    }
}
