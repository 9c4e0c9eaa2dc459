// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Slices that go from one transport to the next. */
final class TransferBatchTest {
    private static TransferBatch batch(long... sizes) {
        RemoteHandle[] handles = new RemoteHandle[sizes.length];
        long[] addresses = new long[sizes.length];
        for (int i = 0; i < sizes.length; i++) {
            handles[i] = new RemoteHandle(1, 1, 0, sizes[i], false, 0, new byte[32]);
            addresses[i] = (i + 1L) << 40;
        }
        return new TransferBatch(
                false, handles, addresses, sizes, null, null, null, Long.MAX_VALUE, TransferStatus.TIMEOUT, 1);
    }

    /** One buffer, for whatever request. */
    private static final class OneBuffer implements Staging {
        static final long ADDRESS = 77;
        private boolean reserved;
        private boolean free = true;

        @Override
        public boolean onDevice(int request) {
            return true;
        }

        @Override
        public boolean direct(int request) {
            return false;
        }

        @Override
        public boolean reserve() {
            reserved = true;
            return true;
        }

        @Override
        public boolean awaitFree() {
            assertThat(free).as("it would wait for good").isTrue();
            return true;
        }

        @Override
        public boolean hasFree() {
            return free;
        }

        @Override
        public long acquire(int bytes) {
            assertThat(reserved).isTrue();
            long address = free ? ADDRESS : 0;
            free = false;
            return address;
        }

        @Override
        public void release(long buffer) {
            free = true;
        }

        @Override
        public boolean toDevice(int request, long buffer, long deviceAddress, int bytes) {
            return true;
        }

        @Override
        public boolean fromDevice(int request, long deviceAddress, long buffer, int bytes) {
            return true;
        }

        @Override
        public boolean flush(int request) {
            return true;
        }

        @Override
        public void close() {}
    }

    @Test
    void nextShare_onlyBufferWithAnotherWorker_givesTheSliceBackAndDoesNotWait() {
        TransferBatch batch = batch(10, 10);
        batch.stageWith(new OneBuffer());
        assertThat(batch.reserveBuffers()).isTrue();
        assertThat(batch.awaitBuffer(true)).isTrue();
        Slice first = new Slice();
        Slice second = new Slice();
        assertThat(batch.nextShare(first, 0, 1, true)).isTrue();
        assertThat(first.localAddress()).isEqualTo(OneBuffer.ADDRESS);
        assertThat(batch.awaitBuffer(false)).isFalse();
        // The other worker looked before the first one took it, and has credit that others wait for.
        assertThat(batch.nextShare(second, 0, 1, true)).isFalse();
        batch.verified(first);
        assertThat(batch.nextShare(second, 0, 1, true)).isTrue();
        assertThat(second.request()).isEqualTo(1);
        assertThat(second.localAddress()).isEqualTo(OneBuffer.ADDRESS);
    }

    @Test
    void nextBelow_returnedSliceBeyondTheEnd_staysForLater() {
        TransferBatch batch = batch(10, 10, 10);
        Slice slice = new Slice();
        while (batch.next(slice)) {
            batch.setAside(slice);
        }
        batch.bringBack();
        assertThat(batch.nextBelow(1, slice)).isTrue();
        assertThat(slice.request()).isZero();
        assertThat(batch.nextBelow(1, slice)).isFalse();
        assertThat(batch.next(slice)).isTrue();
        assertThat(slice.request()).isEqualTo(1);
        assertThat(batch.next(slice)).isTrue();
        assertThat(slice.request()).isEqualTo(2);
        assertThat(batch.next(slice)).isFalse();
    }

    @Test
    void reopen_endedRequest_isMovedAsAWholeAgain() {
        long size = 3L * TransferBatch.MAX_SLICE_BYTES + 5;
        TransferBatch batch = batch(size, 10, 20);
        Slice slice = new Slice();
        assertThat(batch.next(slice)).isTrue();
        batch.verified(slice);
        assertThat(batch.next(slice)).isTrue();
        batch.giveBack(slice);
        batch.revoke(0, TransferStatus.PEER_UNREACHABLE);
        batch.revoke(2, TransferStatus.PEER_UNREACHABLE);
        assertThat(batch.next(slice)).isTrue();
        assertThat(slice.request()).isEqualTo(1);
        batch.verified(slice);
        assertThat(batch.next(slice)).isFalse();
        assertThat(batch.done()).isTrue();

        batch.reopen(0);
        batch.reopen(2);
        assertThat(batch.done()).isFalse();
        long[] moved = new long[3];
        while (batch.next(slice)) {
            moved[slice.request()] += slice.length();
            batch.verified(slice);
        }
        assertThat(moved).containsExactly(size, 0, 20);
        assertThat(batch.statuses()).containsOnly(TransferStatus.COMPLETED);
    }

    @Test
    void reset_smallerBatch_forgetsTheOneBefore() {
        TransferBatch batch = batch(10, 10, 10);
        Slice slice = new Slice();
        batch.next(slice);
        batch.failed(slice, TransferStatus.REFUSED);
        batch.next(slice);
        batch.giveBack(slice);
        RemoteHandle handle = new RemoteHandle(7, 1, 0, 5, true, 0, new byte[32]);
        batch.reset(
                true,
                new RemoteHandle[] {handle},
                new long[] {64},
                new long[] {5},
                null,
                null,
                null,
                Long.MAX_VALUE,
                TransferStatus.TIMEOUT,
                1);
        assertThat(batch.next(slice)).isTrue();
        assertThat(slice.handle()).isSameAs(handle);
        batch.verified(slice);
        assertThat(batch.next(slice)).isFalse();
        TransferStatus[] statuses = new TransferStatus[3];
        Arrays.fill(statuses, TransferStatus.CANCELED);
        batch.statuses(statuses);
        assertThat(statuses)
                .containsExactly(TransferStatus.COMPLETED, TransferStatus.CANCELED, TransferStatus.CANCELED);
    }
}
