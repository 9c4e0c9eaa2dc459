// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.sun.management.ThreadMXBean;
import io.mooncake.transfer.topology.Locality.Closeness;
import io.mooncake.transfer.topology.PathMatrix.Candidate;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class PathMatrixTest {
    private static final UUID NEAR = new UUID(1, 1);
    private static final UUID FAR = new UUID(1, 2);
    private static final UUID NEW = new UUID(1, 3);

    private final PathMatrix matrix = new PathMatrix();

    @Test
    void estimate_measuredPeer_isRoundTripAndBytesOverAllRails() {
        for (int i = 0; i < 100; i++) {
            matrix.observe(FAR, 0, 4096, 200_000);
            matrix.observe(FAR, 1, 4096, 300_000);
            matrix.observe(FAR, 0, 1_000_000, 1_200_000);
            matrix.observe(FAR, 1, 1_000_000, 1_300_000);
        }
        // Two rails of 1 GB/s each, the better round trip.
        assertThat((double) matrix.estimateNanos(FAR, Closeness.ELSEWHERE, 2_000_000))
                .isCloseTo(1_200_000, within(20_000.0));
        assertThat(matrix.entries()).hasSize(2);
        assertThat(matrix.entries().get(1).rail()).isEqualTo(1);
    }

    @Test
    void estimate_pathThatChanges_followsWithinTensOfTransfers() {
        for (int i = 0; i < 50; i++) {
            matrix.observe(NEAR, 0, 1 << 20, 1_000_000);
        }
        long before = matrix.estimateNanos(NEAR, Closeness.SAME_RACK, 1 << 20);
        for (int i = 0; i < 30; i++) {
            matrix.observe(NEAR, 0, 1 << 20, 10_000_000);
        }
        assertThat(matrix.estimateNanos(NEAR, Closeness.SAME_RACK, 1 << 20)).isGreaterThan(5 * before);
    }

    @Test
    void rank_nothingMeasured_isByCloseness() {
        Candidate rack = new Candidate(NEAR, Closeness.SAME_RACK);
        Candidate zone = new Candidate(FAR, Closeness.SAME_ZONE);
        Candidate host = new Candidate(NEW, Closeness.SAME_HOST);
        assertThat(matrix.rank(List.of(zone, rack, host), 1 << 20)).containsExactly(host, rack, zone);
    }

    @Test
    void rank_nearPeerIsClogged_prefersTheFarOne() {
        matrix.observe(NEAR, 0, 1 << 20, 500_000_000);
        matrix.observe(NEAR, 0, 1 << 10, 100_000);
        matrix.observe(FAR, 0, 1 << 20, 2_000_000);
        matrix.observe(FAR, 0, 1 << 10, 1_000_000);
        Candidate near = new Candidate(NEAR, Closeness.SAME_HOST);
        Candidate far = new Candidate(FAR, Closeness.ELSEWHERE);
        assertThat(matrix.rank(List.of(near, far), 1 << 20)).containsExactly(far, near);
    }

    @Test
    void rank_unmeasuredPeer_isTakenToBeLikeItsNeighbours() {
        matrix.observe(NEAR, 0, 1 << 20, 100_000_000);
        matrix.observe(NEAR, 0, 1 << 10, 1_000_000);
        matrix.observe(FAR, 0, 1 << 20, 50_000_000);
        matrix.observe(FAR, 0, 1 << 10, 1_000_000);
        Candidate near = new Candidate(NEAR, Closeness.SAME_RACK);
        Candidate unknown = new Candidate(NEW, Closeness.SAME_RACK);
        Candidate far = new Candidate(FAR, Closeness.SAME_ZONE);
        assertThat(matrix.rank(List.of(near, unknown, far), 1 << 20)).containsExactly(far, near, unknown);
    }

    @Test
    void observeShare_severalRails_eachIsCreditedWithItsOwn() {
        matrix.observeShare(FAR, RailNumber.ofTcp(0), 3_000_000, 1_000_000);
        matrix.observeShare(FAR, RailNumber.ofTcp(1), 1_000_000, 1_000_000);
        matrix.observeShare(FAR, RailNumber.ofTcp(2), PathMatrix.SMALL_BYTES, 1_000_000);
        assertThat(matrix.entries())
                .containsExactly(
                        new PathMatrix.Entry(FAR, 0, 0, 3_000_000_000L),
                        new PathMatrix.Entry(FAR, 1, 0, 1_000_000_000L));
        assertThat(matrix.entries()).extracting(PathMatrix.Entry::railName).containsExactly("tcp 0", "tcp 1");
        // Four gigabytes a second together.
        assertThat((double) matrix.estimateNanos(FAR, Closeness.SAME_RACK, 4_000_000_000L))
                .isCloseTo(1e9, within(1e6));
    }

    @Test
    void failed_oneOfTwoRails_isNotCountedUponUntilMeasuredAgain() {
        matrix.observeShare(FAR, 0, 1_000_000, 1_000_000);
        matrix.observeShare(FAR, 1, 1_000_000, 1_000_000);
        long both = matrix.estimateNanos(FAR, Closeness.SAME_RACK, 1_000_000_000L);
        matrix.failed(FAR, 1);
        assertThat((double) matrix.estimateNanos(FAR, Closeness.SAME_RACK, 1_000_000_000L))
                .isCloseTo(2.0 * both, within(0.01 * both));
        assertThat(matrix.entries()).hasSize(1);
        matrix.observeShare(FAR, 1, 1_000_000, 1_000_000);
        assertThat(matrix.estimateNanos(FAR, Closeness.SAME_RACK, 1_000_000_000L))
                .isEqualTo(both);
        matrix.failed(NEW, 0);
        assertThat(matrix.entries()).extracting(PathMatrix.Entry::peer).containsOnly(FAR);
    }

    @Test
    void estimate_peerThatFellBackToTcp_isByTheKindMeasuredLast() {
        for (int device = 0; device < 2; device++) {
            matrix.observe(FAR, RailNumber.ofRdma(device), 1 << 10, 5_000);
            matrix.observe(FAR, RailNumber.ofRdma(device), 1 << 20, 100_000);
        }
        assertThat(matrix.estimateNanos(FAR, Closeness.SAME_RACK, 1 << 20)).isLessThan(100_000);
        matrix.observe(FAR, RailNumber.ofTcp(0), 1 << 20, 2_000_000);
        assertThat(matrix.estimateNanos(FAR, Closeness.SAME_RACK, 1 << 20)).isGreaterThan(1_900_000);
        matrix.observe(FAR, RailNumber.ofRdma(0), 1 << 20, 100_000);
        assertThat(matrix.estimateNanos(FAR, Closeness.SAME_RACK, 1 << 20)).isLessThan(100_000);
        matrix.observe(FAR, RailNumber.MEMORY, 1 << 20, 300_000);
        assertThat(matrix.entries())
                .extracting(PathMatrix.Entry::railName)
                .containsExactly("tcp 0", "rdma 0", "rdma 1", "memory");
    }

    @Test
    void unfinished_peerThatKeepsCallersWaiting_isPassedOverAndTriedAgainInMinutes() {
        AtomicLong now = new AtomicLong();
        PathMatrix timed = new PathMatrix(now::get);
        Candidate slow = new Candidate(NEAR, Closeness.SAME_RACK);
        Candidate good = new Candidate(FAR, Closeness.SAME_ZONE);
        timed.observe(FAR, 0, 1 << 20, 20_000_000);
        timed.observe(FAR, 0, 1 << 10, 500_000);
        assertThat(timed.rank(List.of(slow, good), 1 << 20)).containsExactly(slow, good);
        timed.unfinished(NEAR, 1 << 20, 2048, 2_000_000_000L);
        assertThat(timed.rank(List.of(slow, good), 1 << 20)).containsExactly(good, slow);
        for (int second = 0; second < 60; second++) {
            now.addAndGet(1_000_000_000L);
            timed.observe(FAR, 0, 1 << 20, 20_000_000);
            assertThat(timed.rank(List.of(slow, good), 1 << 20)).containsExactly(good, slow);
        }
        now.addAndGet(240_000_000_000L);
        timed.observe(FAR, 0, 1 << 20, 20_000_000);
        assertThat(timed.rank(List.of(slow, good), 1 << 20)).containsExactly(slow, good);
    }

    @Test
    void unfinished_shortDeadline_saysOnlyThatItWasTooShort() {
        matrix.observe(NEAR, 0, 1 << 20, 1_000_000);
        matrix.observe(NEAR, 0, 1 << 10, 100_000);
        long before = matrix.estimateNanos(NEAR, Closeness.SAME_RACK, 1 << 20);
        matrix.unfinished(NEAR, 1 << 20, 4096, 100_000);
        assertThat(matrix.estimateNanos(NEAR, Closeness.SAME_RACK, 1 << 20)).isEqualTo(before);
    }

    @Test
    void observe_nonsense_countsForNothing() {
        matrix.observe(NEAR, -1, 1, 1);
        matrix.observe(NEAR, PathMatrix.MAX_RAILS, 1, 1);
        matrix.observe(NEAR, 0, 0, 1);
        matrix.observe(NEAR, 0, 1, 0);
        assertThat(matrix.entries()).isEmpty();
        matrix.observe(NEAR, 0, 1, 1);
        matrix.forget(NEAR);
        assertThat(matrix.entries()).isEmpty();
    }

    @Test
    void observe_knownPeer_allocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (int i = 0; i < 20_000; i++) {
            matrix.observe(NEAR, 0, 1 << 20, 1000 + i);
        }
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < 10_000; i++) {
            matrix.observe(NEAR, 0, 1 << 20, 1000 + i);
        }
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(1000);
    }

    @Test
    void closeness_unknownParts_areNotTheSame() {
        Locality here = new Locality("h1", "r1", "z1");
        assertThat(here.to(new Locality("h1", "r2", "z2"))).isEqualTo(Closeness.SAME_HOST);
        assertThat(here.to(new Locality("h2", "r1", "z1"))).isEqualTo(Closeness.SAME_RACK);
        assertThat(here.to(new Locality("h2", "r1", "z2"))).isEqualTo(Closeness.ELSEWHERE);
        assertThat(here.to(new Locality("", "", "z1"))).isEqualTo(Closeness.SAME_ZONE);
        assertThat(Locality.UNKNOWN.to(Locality.UNKNOWN)).isEqualTo(Closeness.ELSEWHERE);
        assertThat(Locality.of(Map.of("rack", "r1"))).isEqualTo(new Locality("", "r1", ""));
    }
}
