// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.rdma.RdmaConfig;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reads of leased ranges in which the owner has no part. Needs a device, as {@link RdmaTransferOnDevice}. */
final class RdmaDirectReadOnDevice {
    private static final int SIZE = 256 << 10;
    private static final int COUNT = 8;
    /** Registrations of half a range more, so that ranges lie across their borders. */
    private static final RdmaConfig CONFIG = new RdmaConfig(List.of("rxe0"), 1, -1, SIZE * 3 / 2, 14, 4);

    private static final String CONNECT = "mooncake.rdma.connect";
    private static final String REGION = "mooncake.rdma.region";
    private static final String OPEN = "mooncake.rdma.open";
    private static final String CLOSE = "mooncake.rdma.close";

    private final RdmaPair pair = new RdmaPair(CONFIG, COUNT * SIZE, 1);
    private final AtomicLong generation = new AtomicLong(1);
    private final Region region =
            pair.register(0, COUNT * SIZE, (offset, length, wanted) -> generation.get() == wanted);
    private final List<RemoteHandle> handles = pair.handles(region, COUNT, SIZE, false);

    RdmaDirectReadOnDevice() {
        pair.theirs.fill(1, 0, COUNT * SIZE);
    }

    @AfterEach
    void stop() {
        assertThat(pair.ours.canariesIntact()).isTrue();
        assertThat(pair.theirs.canariesIntact()).isTrue();
        pair.close();
    }

    private TransferStatus[] read(int[] checksums) {
        return pair.readLeased(handles, SIZE, checksums, 30_000);
    }

    /** Reads all, after which the keys are known and a queue pair is idle. */
    private int[] readOnce() {
        int[] checksums = pair.checksums(COUNT, SIZE);
        assertThat(read(checksums)).containsOnly(TransferStatus.COMPLETED);
        pair.asked.clear();
        return checksums;
    }

    @Test
    void read_again_asksTheOwnerNothing() {
        int[] checksums = pair.checksums(COUNT, SIZE);
        assertThat(read(checksums)).containsOnly(TransferStatus.COMPLETED);
        assertThat(pair.asked).containsExactly(REGION, CONNECT);
        pair.ours.fill(9, 0, COUNT * SIZE);
        assertThat(read(checksums)).containsOnly(TransferStatus.COMPLETED);
        assertThat(pair.ours.holds(1, 0, COUNT * SIZE)).isTrue();
        assertThat(pair.asked).as("nothing more").hasSize(2);
    }

    @Test
    void read_bytesChangedUnderTheLease_asksTheOwnerWhoStandsByTheGeneration_isChecksum() {
        int[] checksums = readOnce();
        pair.theirs.flip(3 * SIZE + 5);
        TransferStatus[] statuses = read(checksums);
        assertOnly(statuses, 3, TransferStatus.CHECKSUM);
        assertThat(pair.asked).containsExactly(OPEN, CLOSE);
    }

    @Test
    void read_recycledUnderTheLease_asksTheOwnerWhoKnows_isStale() {
        int[] checksums = readOnce();
        generation.incrementAndGet();
        pair.theirs.fill(2, 3 * SIZE, SIZE);
        TransferStatus[] statuses = read(checksums);
        assertOnly(statuses, 3, TransferStatus.STALE_GENERATION);
        assertThat(pair.asked).containsExactly(OPEN, CLOSE);
    }

    @Test
    void read_rangeTakenBackByForce_endsThatOneAndRepeatsTheOthersWithNewKeys() {
        int[] checksums = readOnce();
        generation.incrementAndGet();
        pair.owner.revoke(region, 3L * SIZE, SIZE);
        pair.theirs.fill(2, 3 * SIZE, SIZE);
        pair.ours.fill(9, 3 * SIZE, SIZE);
        for (int i = 0; i < COUNT; i++) {
            // All but the one that was taken back have been leased anew.
            handles.set(i, pair.handle(region, i * SIZE, SIZE, i == 3 ? 1 : 2, false));
        }
        TransferStatus[] statuses = read(checksums);
        assertOnly(statuses, 3, TransferStatus.STALE_GENERATION);
        assertThat(pair.ours.holds(9, 3 * SIZE, SIZE))
                .as("the new bytes are not read")
                .isTrue();
        pair.asked.clear();
        handles.remove(3);
        assertThat(pair.readLeased(handles, SIZE, without(checksums, 3), 30_000))
                .containsOnly(TransferStatus.COMPLETED);
        assertThat(pair.asked).as("the new keys are known").isEmpty();
    }

    @Test
    void read_keyRefusedAndNoConnectionAfterIt_leavesAllThatIsOpenToOtherWays() {
        int[] checksums = readOnce();
        pair.owner.revoke(region, 0, SIZE);
        refuseConnections();
        TransferBatch batch = pair.leased(handles, SIZE, checksums, 30_000);
        assertThat(pair.attempt(batch)).isNotNull();
        BitSet offered = new BitSet();
        TransferBatch.Slice slice = new TransferBatch.Slice();
        while (batch.next(slice)) {
            offered.set(slice.request());
        }
        for (int i = 0; i < COUNT; i++) {
            assertThat(offered.get(i)).as("request %d", i).isEqualTo(batch.status(i) == null);
        }
        assertThat(offered.isEmpty()).isFalse();
    }

    private void refuseConnections() {
        pair.change(CONNECT, asked -> {
            refuseConnections();
            return new byte[0];
        });
    }

    @Test
    void read_regionEnded_isNotReached() {
        int[] checksums = readOnce();
        pair.owner.deregister(region);
        pair.theirs.fill(2, 0, COUNT * SIZE);
        pair.ours.fill(9, 0, COUNT * SIZE);
        assertThat(read(checksums)).containsOnly(TransferStatus.PEER_UNREACHABLE);
        assertThat(pair.ours.holds(9, 0, COUNT * SIZE)).isTrue();
    }

    @Test
    void read_ownerLetTheQueuePairGo_connectsAgain() {
        int[] checksums = readOnce();
        pair.owner.peerGone(pair.readerId);
        pair.ours.fill(9, 0, COUNT * SIZE);
        assertThat(read(checksums)).containsOnly(TransferStatus.COMPLETED);
        assertThat(pair.ours.holds(1, 0, COUNT * SIZE)).isTrue();
        assertThat(pair.asked).contains(CONNECT).doesNotContain(REGION, OPEN);
    }

    @Test
    void read_ownersDeviceRefusesAConnection_triesAgain() {
        pair.change(CONNECT, asked -> {
            byte[] elsewhere = asked.clone();
            // The first byte of the address: nobody there, and no way to it.
            elsewhere[5 + 12] ^= 0x55;
            return elsewhere;
        });
        assertThat(read(pair.checksums(COUNT, SIZE))).containsOnly(TransferStatus.COMPLETED);
        assertThat(pair.asked).containsExactly(REGION, CONNECT, CONNECT);
    }

    @Test
    void read_handleThatTheOwnerDidNotIssue_isRefusedAndNoByteMoves() {
        RemoteHandle forged =
                new RemoteHandle(region.id(), 1, 0, SIZE, false, System.nanoTime() + 60_000_000_000L, new byte[32]);
        assertThat(pair.readLeased(List.of(forged), SIZE, pair.checksums(1, SIZE), 30_000))
                .containsExactly(TransferStatus.REFUSED);
        assertThat(pair.ours.untouched(0, SIZE)).isTrue();
    }

    @Test
    void read_deadlinePassed_movesNothing() {
        int[] checksums = readOnce();
        pair.ours.fill(9, 0, COUNT * SIZE);
        assertThat(pair.readLeased(handles, SIZE, checksums, 0)).containsOnly(TransferStatus.TIMEOUT);
        assertThat(pair.ours.holds(9, 0, COUNT * SIZE)).isTrue();
        assertThat(pair.asked).doesNotContain(OPEN, CONNECT);
    }

    private static int[] without(int[] values, int index) {
        int[] left = new int[values.length - 1];
        for (int i = 0; i < left.length; i++) {
            left[i] = values[i < index ? i : i + 1];
        }
        return left;
    }

    private void assertOnly(TransferStatus[] statuses, int wrong, TransferStatus status) {
        for (int i = 0; i < COUNT; i++) {
            assertThat(statuses[i]).as("request %d", i).isEqualTo(i == wrong ? status : TransferStatus.COMPLETED);
            assertThat(i == wrong || holds(i)).as("request %d", i).isTrue();
        }
    }

    private boolean holds(int index) {
        return pair.ours.checksums(index * SIZE, SIZE, SIZE)[0] == pair.theirs.checksums(index * SIZE, SIZE, SIZE)[0];
    }
}
