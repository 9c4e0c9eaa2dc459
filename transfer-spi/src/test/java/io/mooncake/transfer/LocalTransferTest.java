// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The contract over the copy within a process: an engine and itself. */
final class LocalTransferTest extends TransferContract {
    @Override
    long read(TransferStatistics statistics) {
        return statistics.readLocal();
    }

    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    }

    @Override
    TransferEngine startReader() {
        return owner;
    }

    @Override
    void connect() {
        assertThat(owner.path(owner.address(), soon()))
                .isEqualTo(new PathReport(PathReport.Kind.LOCAL, PathReport.Kind.LOCAL, ""));
    }

    @Override
    @Test
    void peerGone_holderWithLease_unpinsAndRefusesBothWays() {
        // Nobody declares himself dead; what would end is asked of others.
        owner.peerGone(owner.incarnation());
        assertThat(read(handle(0, 100, false), 100, 0)).isEqualTo(TransferStatus.PEER_UNREACHABLE);
    }

    @Override
    @Test
    void close_ticketsUnderWay_allEnd() {
        super.close_ticketsUnderWay_allEnd();
        assertThat(owner.statistics().readTcp()).isZero();
        assertThat(owner.statistics().readLocal()).isPositive();
    }
}
