// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PathReport.Kind;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The choice between RDMA and TCP, by what RDMA says; on a clock of its own. */
final class NetworkTransportTest {
    private final PeerAddress peer = new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 2, 3);
    private final AtomicLong now = new AtomicLong(1000);
    private final List<String> went = new ArrayList<>();
    private OptionalTransport.@Nullable Declined answer;
    private TransferStatus outcome = TransferStatus.COMPLETED;

    /** Moves nothing, notes what it was given, and ends it as the test wants. */
    private class Way implements OptionalTransport {
        private final String name;

        Way(String name) {
            this.name = name;
        }

        @Override
        public void execute(PeerAddress to, TransferBatch batch) {
            went.add(name);
            Slice slice = new Slice();
            while (batch.next(slice)) {
                if (outcome == TransferStatus.COMPLETED) {
                    batch.verified(slice);
                } else {
                    batch.failed(slice, outcome);
                }
            }
        }

        @Override
        public @Nullable Declined attempt(PeerAddress to, TransferBatch batch) {
            if (answer != null) {
                went.add(name + " no");
                return answer;
            }
            execute(to, batch);
            return null;
        }

        @Override
        public @Nullable Declined probe(PeerAddress to, Deadline deadline) {
            went.add(name + "?");
            return answer;
        }

        @Override
        public String describe() {
            return name;
        }

        @Override
        public void cut(Region region) {}

        @Override
        public void peerGone(UUID incarnation) {
            went.add(name + " gone");
        }

        @Override
        public void close() {}
    }

    private final NetworkTransport network = new NetworkTransport(new Way("rdma"), new Way("tcp"), now::get);

    private TransferStatus transfer() {
        RemoteHandle handle = new RemoteHandle(1, 1, 0, 10, false, 0, new byte[32]);
        TransferBatch batch = new TransferBatch(
                false,
                new RemoteHandle[] {handle},
                new long[] {4096},
                new long[] {10},
                null,
                null,
                null,
                Long.MAX_VALUE,
                TransferStatus.TIMEOUT,
                1);
        network.execute(peer, batch);
        return batch.statuses()[0];
    }

    private static Deadline soon() {
        return Deadline.ofMillis(1000);
    }

    @Test
    void execute_rdmaWorks_staysWithIt() {
        assertThat(transfer()).isEqualTo(TransferStatus.COMPLETED);
        assertThat(transfer()).isEqualTo(TransferStatus.COMPLETED);
        assertThat(went).containsExactly("rdma", "rdma");
        assertThat(network.path(peer, soon())).isEqualTo(Kind.RDMA);
        assertThat(network.reason(peer)).isEmpty();
        assertThat(went).as("no probe of what is proven").hasSize(2);
    }

    @Test
    void execute_peerWithoutRdma_goesOnByTcpInTheSameCallAndTriesAgainAfterThePause() {
        answer = new OptionalTransport.Declined("no device", true);
        assertThat(transfer()).isEqualTo(TransferStatus.COMPLETED);
        assertThat(transfer()).isEqualTo(TransferStatus.COMPLETED);
        assertThat(went).containsExactly("rdma no", "tcp", "tcp");
        assertThat(network.path(peer, soon())).isEqualTo(Kind.TCP);
        assertThat(network.reason(peer)).isEqualTo("no device");
        now.addAndGet(NetworkTransport.PAUSE_NANOS - 1);
        transfer();
        now.addAndGet(1);
        answer = null;
        transfer();
        transfer();
        assertThat(went).containsExactly("rdma no", "tcp", "tcp", "tcp", "rdma", "rdma");
        assertThat(network.path(peer, soon())).isEqualTo(Kind.RDMA);
    }

    @Test
    void execute_oneBatchTurnedDown_triesTheNext() {
        answer = new OptionalTransport.Declined("not registered with the device", false);
        transfer();
        answer = null;
        transfer();
        assertThat(went).containsExactly("rdma no", "tcp", "rdma");
    }

    @Test
    void execute_nothingEverCame_timeoutTurnsRdmaDown() {
        outcome = TransferStatus.TIMEOUT;
        assertThat(transfer()).isEqualTo(TransferStatus.TIMEOUT);
        outcome = TransferStatus.COMPLETED;
        assertThat(transfer()).isEqualTo(TransferStatus.COMPLETED);
        assertThat(went).containsExactly("rdma", "tcp");
        assertThat(network.reason(peer)).contains("nothing came through");
    }

    @Test
    void execute_timeoutAfterSuccess_staysWithRdma() {
        transfer();
        outcome = TransferStatus.TIMEOUT;
        transfer();
        transfer();
        assertThat(went).containsExactly("rdma", "rdma", "rdma");
    }

    @Test
    void path_beforeAnyTransfer_probes() {
        answer = new OptionalTransport.Declined("no service", true);
        assertThat(network.path(peer, soon())).isEqualTo(Kind.TCP);
        assertThat(network.reason(peer)).isEqualTo("no service");
        network.peerGone(peer.incarnation());
        assertThat(went).containsExactly("rdma?", "rdma gone", "tcp gone");
    }
}
