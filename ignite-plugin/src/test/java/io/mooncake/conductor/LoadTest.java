// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.mooncake.base.MooncakeException;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LoadTest {
    private static final UUID NODE = new UUID(0, 1);
    private static final UUID ME = new UUID(0, 2);
    private static final UUID OTHER = new UUID(0, 3);

    private final AtomicLong clock = new AtomicLong(5);
    private final NodeMeter meter = new NodeMeter(NODE, ConductorSettings.DEFAULT, clock::get);

    @Test
    void dispatch_untilTicketCloses_isCounted() {
        ClusterState state = new ClusterState(ME);
        ClusterState.Ticket ticket = state.dispatch(NODE, 700);
        assertThat(state.load(NODE).inFlight()).isEqualTo(1);
        assertThat(state.load(NODE).queuedTokens()).isEqualTo(700);

        ticket.close();
        ticket.close();

        assertThat(state.load(NODE).inFlight()).isZero();
        assertThat(state.load(NODE).queuedTokens()).isZero();
    }

    @Test
    void report_ofOwnAndOtherRequests_countsOwnOnce() {
        ClusterState state = new ClusterState(ME);
        state.dispatch(NODE, 700);
        meter.started(ME, 700);
        meter.started(OTHER, 300);

        state.report(meter.report());

        assertThat(state.load(NODE).inFlight()).isEqualTo(2);
        assertThat(state.load(NODE).queuedTokens()).isEqualTo(1_000);
    }

    @Test
    void report_olderThanLast_isIgnored() {
        ClusterState state = new ClusterState(ME);
        NodeMeter.Run run = meter.started(OTHER, 300);
        LoadReport busy = meter.report();
        run.close();
        state.report(meter.report());

        state.report(busy);

        assertThat(state.load(NODE).inFlight()).isZero();
    }

    @Test
    void retain_nodeGone_forgetsItsLoad() {
        ClusterState state = new ClusterState(ME);
        ClusterState.Ticket ticket = state.dispatch(NODE, 700);

        state.retain(Set.of(OTHER));
        ticket.close();

        assertThat(state.load(NODE)).isEqualTo(NodeLoad.idle(NODE));
    }

    @Test
    void prefilled_reportedByJob_teachesSpeedAndFreesQueue() {
        NodeMeter.Run run = meter.started(ME, 512);

        run.prefilled(512, 2_000_000_000L);

        LoadReport report = meter.report();
        assertThat(report.prefillTokensPerSecond()).isEqualTo(256);
        assertThat(report.shares()).containsExactly(new LoadReport.Share(ME, 1, 0));
        clock.addAndGet(3_000_000_000L);
        run.completed();
        run.close();
        assertThat(meter.report().holdNanos()).isEqualTo(1_000_000_000L);
        assertThat(meter.report().shares()).isEmpty();
    }

    @Test
    void completed_jobsWithoutReport_speedFollowsThem() {
        for (int i = 0; i < 40; i++) {
            NodeMeter.Run run = meter.started(ME, 640);
            clock.addAndGet(i < 10 ? 6_400_000_000L : 1_600_000_000L);
            run.completed();
            run.close();
        }

        assertThat(meter.prefillTokensPerSecond()).isCloseTo(400, within(5.0));
    }

    @Test
    void close_failedJob_teachesNothing() {
        NodeMeter.Run run = meter.started(ME, 640);
        clock.addAndGet(1);
        run.close();

        assertThat(meter.prefillTokensPerSecond()).isZero();
        assertThat(meter.running()).isZero();
    }

    @Test
    void descriptor_roundTrip_keepsAll() {
        meter.started(ME, 1);
        meter.started(OTHER, 2);
        meter.fetched(1 << 20, 1_000_000);
        LoadReport report = meter.report();

        assertThat(LoadReportDescriptor.decode(LoadReportDescriptor.encode(report)))
                .isEqualTo(report);
    }

    @Test
    void descriptor_badBytes_areRefused() {
        byte[] good = LoadReportDescriptor.encode(new LoadReport(NODE, 1, 1, 1, 1, List.of()));
        byte[] version = good.clone();
        version[0] = 2;
        byte[] negative = good.clone();
        negative[48] = (byte) 0x80;
        byte[] count = good.clone();
        count[49] = 1;
        for (byte[] bad : List.of(new byte[0], new byte[] {1}, version, negative, count)) {
            assertThatThrownBy(() -> LoadReportDescriptor.decode(bad)).isInstanceOf(MooncakeException.class);
        }
    }
}
