// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.rdma.RdmaConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the device revokes costs one request, not those that were outstanding with it. Needs a device, as {@link RdmaTransferOnDevice}. */
class RdmaRevocationOnDevice {
    static final RdmaConfig ONE_DEVICE = new RdmaConfig(List.of("rxe0"), 1, -1, 16 << 20, 14, 4);
    private static final int SIZE = 1 << 20;
    private static final int REQUESTS = 8;
    private static final int REVOKED = 3;
    private static final int SECRET = 99;

    RdmaPair pair(int bytes) {
        return new RdmaPair(ONE_DEVICE, bytes, 1);
    }

    @Test
    void execute_oneRegionRevokedMeanwhile_failsThatOneAndRepeatsTheRest() {
        try (RdmaPair pair = pair(REQUESTS * SIZE)) {
            List<RemoteHandle> handles = new ArrayList<>();
            Region[] regions = new Region[REQUESTS];
            for (int i = 0; i < REQUESTS; i++) {
                pair.theirs.fill(i, i * SIZE, SIZE);
                regions[i] = pair.register(i * SIZE, SIZE, pair.theirs.guard());
                handles.add(pair.handle(regions[i], 0, SIZE, false));
            }
            pair.after("mooncake.rdma.open", () -> pair.owner.deregister(regions[REVOKED]));
            assertOnlyRevokedFails(pair, pair.move(false, handles, SIZE, 30_000), TransferStatus.PEER_UNREACHABLE);
            assertThat(pair.asked)
                    .startsWith("mooncake.rdma.connect", "mooncake.rdma.open", "mooncake.rdma.close")
                    .containsSequence("mooncake.rdma.connect", "mooncake.rdma.open", "mooncake.rdma.close");
            assertThat(pair.counters.snapshot().requestsServed()).isEqualTo(REQUESTS - 1);
        }
    }

    private static void assertOnlyRevokedFails(RdmaPair pair, TransferStatus[] statuses, TransferStatus status) {
        for (int i = 0; i < REQUESTS; i++) {
            assertThat(statuses[i]).as("request %d", i).isEqualTo(i == REVOKED ? status : TransferStatus.COMPLETED);
            assertThat(i == REVOKED || pair.ours.holds(i, i * SIZE, SIZE)).isTrue();
        }
        assertThat(pair.reader.retriedSlices()).isBetween(1L, (long) REQUESTS);
    }

    /** Evicts one range of a region by force, at the worst time, and uses its memory at once. */
    private static void evict(RdmaPair pair, Region region, AtomicBoolean evicted) {
        evicted.set(true);
        pair.owner.revoke(region, REVOKED * SIZE, SIZE);
        pair.theirs.fill(SECRET, REVOKED * SIZE, SIZE);
    }

    private static RegionGuard guard(AtomicBoolean evicted) {
        return (offset, length, generation) -> !evicted.get() || offset / SIZE != REVOKED;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void revoke_rangeOfARegionThatStays_endsThatRequestAndRepeatsTheRest(boolean write) {
        try (RdmaPair pair = pair(REQUESTS * SIZE)) {
            AtomicBoolean evicted = new AtomicBoolean();
            Region region = pair.register(0, REQUESTS * SIZE, guard(evicted));
            for (int i = 0; i < REQUESTS; i++) {
                (write ? pair.ours : pair.theirs).fill(i, i * SIZE, SIZE);
            }
            List<RemoteHandle> handles = pair.handles(region, REQUESTS, SIZE, write);
            // The reader holds keys to all of it now, and has posted nothing yet.
            pair.after("mooncake.rdma.open", () -> evict(pair, region, evicted));
            TransferStatus[] statuses = pair.move(write, handles, SIZE, 30_000);
            assertOnlyRevokedFails(pair, statuses, TransferStatus.STALE_GENERATION);
            assertThat(pair.theirs.holds(SECRET, REVOKED * SIZE, SIZE))
                    .as("the new bytes are not written over")
                    .isTrue();
            for (int i = 0; write && i < REQUESTS; i++) {
                assertThat(i == REVOKED || pair.theirs.holds(i, i * SIZE, SIZE)).isTrue();
            }
            assertThat(write || pair.ours.untouched(REVOKED * SIZE, SIZE))
                    .as("the new bytes are not read")
                    .isTrue();
            // The next batch has the new keys from the start.
            long retried = pair.reader.retriedSlices();
            handles.remove(REVOKED);
            assertThat(pair.move(write, handles, SIZE, 30_000)).containsOnly(TransferStatus.COMPLETED);
            assertThat(pair.reader.retriedSlices()).isEqualTo(retried);
        }
    }
}
