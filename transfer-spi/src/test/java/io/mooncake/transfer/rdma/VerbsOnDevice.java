// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.natives.CompletionStatus;
import io.mooncake.natives.Verbs;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsQueuePair;
import io.mooncake.natives.VerbsRegistration;
import io.mooncake.transfer.internal.DirectViews;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import sun.misc.Unsafe;

/** The bridge alone, between two queue pairs of one device: what moves, and which error follows which mistake. */
final class VerbsOnDevice {
    private static final int SIZE = 1 << 20;

    private static final Unsafe UNSAFE = unsafe();

    private final long nearAddress = zeroed();
    private final long farAddress = zeroed();
    private final ByteBuffer near = DirectViews.view(nearAddress, SIZE);
    private final ByteBuffer far = DirectViews.view(farAddress, SIZE);
    private final long[] descriptors = new long[VerbsQueuePair.MAX_BATCH * VerbsQueuePair.POST_LONGS];
    private final long[] completions = new long[VerbsQueuePair.MAX_BATCH * VerbsQueuePair.COMPLETION_LONGS];
    private RdmaDevices devices;
    private RdmaPort port;
    private VerbsRegistration nearKeys;
    private VerbsRegistration farKeys;
    private VerbsQueuePair asking;
    private VerbsQueuePair answering;

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static long zeroed() {
        long address = UNSAFE.allocateMemory(SIZE);
        UNSAFE.setMemory(address, SIZE, (byte) 0);
        return address;
    }

    @BeforeEach
    void connect() {
        devices = RdmaDevices.open(new RdmaConfig(List.of("rxe0"), 1, -1, 1 << 30, 12, 3));
        port = devices.ports().get(0);
        nearKeys = port.device().register(nearAddress, SIZE, VerbsDevice.LOCAL_WRITE);
        farKeys = port.device()
                .register(
                        farAddress, SIZE, VerbsDevice.LOCAL_WRITE | VerbsDevice.REMOTE_WRITE | VerbsDevice.REMOTE_READ);
        asking = port.create(0);
        answering = port.create(VerbsDevice.REMOTE_READ | VerbsDevice.REMOTE_WRITE);
        port.connect(asking, 7, port.endpoint(answering, 9));
        port.connect(answering, 9, port.endpoint(asking, 7));
    }

    @AfterEach
    void close() {
        asking.close();
        answering.close();
        farKeys.close();
        nearKeys.close();
        devices.close();
        UNSAFE.freeMemory(nearAddress);
        UNSAFE.freeMemory(farAddress);
    }

    private void describe(int index, boolean write, int offset, int length, int key) {
        VerbsQueuePair.describe(
                descriptors,
                index,
                100 + index,
                write,
                nearAddress + offset,
                length,
                nearKeys.localKey(),
                farAddress + offset,
                key);
    }

    private List<CompletionStatus> await(int count) {
        List<CompletionStatus> found = new ArrayList<>();
        long until = System.nanoTime() + 20_000_000_000L;
        while (found.size() < count) {
            assertThat(System.nanoTime()).as("completions in time").isLessThan(until);
            int taken = asking.poll(completions);
            for (int i = 0; i < taken; i++) {
                assertThat(completions[i * VerbsQueuePair.COMPLETION_LONGS]).isEqualTo(100 + found.size());
                found.add(CompletionStatus.of(completions[i * VerbsQueuePair.COMPLETION_LONGS + 1]));
            }
        }
        return found;
    }

    private List<CompletionStatus> transfer(boolean write, int offset, int length, int key) {
        describe(0, write, offset, length, key);
        assertThat(asking.post(descriptors, 1)).isEqualTo(1);
        return await(1);
    }

    @Test
    void device_softRoce_saysWhatItCan() {
        assertThat(Verbs.unavailable()).isEmpty();
        assertThat(Verbs.devices()).contains(port.device().name());
        assertThat(port.device().limits().ports()).isPositive();
        assertThat(port.device().port(1).active()).isTrue();
        assertThat(port.device().gids(1)).isNotEmpty();
    }

    @Test
    void postAndPoll_writeThenRead_moveTheBytesInOrder() {
        for (int i = 0; i < SIZE; i++) {
            near.put(i, (byte) (i * 7 + i / 251));
        }
        ByteBuffer sent =
                ByteBuffer.allocate(SIZE).put(near.duplicate().clear()).flip();
        int piece = SIZE / VerbsQueuePair.MAX_BATCH;
        for (int i = 0; i < VerbsQueuePair.MAX_BATCH; i++) {
            describe(i, true, i * piece, piece, farKeys.remoteKey());
        }
        assertThat(asking.post(descriptors, VerbsQueuePair.MAX_BATCH)).isEqualTo(VerbsQueuePair.MAX_BATCH);
        assertThat(await(VerbsQueuePair.MAX_BATCH)).containsOnly(CompletionStatus.SUCCESS);
        assertThat(far).isEqualTo(sent);
        DirectViews.view(nearAddress, SIZE).put(new byte[SIZE]);
        assertThat(transfer(false, 0, SIZE, farKeys.remoteKey())).containsExactly(CompletionStatus.SUCCESS);
        assertThat(near).isEqualTo(sent);
    }

    @Test
    void post_wrongKey_isRemoteAccessAndTheNextOneIsFlushed() {
        describe(0, true, 0, 64, farKeys.remoteKey() ^ 0x5500);
        describe(1, true, 0, 64, farKeys.remoteKey());
        assertThat(asking.post(descriptors, 2)).isEqualTo(2);
        assertThat(await(2)).containsExactly(CompletionStatus.REMOTE_ACCESS, CompletionStatus.FLUSHED);
        assertThat(far.get(0)).isZero();
    }

    @Test
    void post_pastTheEnd_isRemoteAccess() {
        VerbsQueuePair.describe(
                descriptors,
                0,
                100,
                true,
                nearAddress,
                128,
                nearKeys.localKey(),
                farAddress + SIZE - 64,
                farKeys.remoteKey());
        assertThat(asking.post(descriptors, 1)).isEqualTo(1);
        assertThat(await(1)).containsExactly(CompletionStatus.REMOTE_ACCESS);
    }

    @Test
    void post_readOnlyRegistration_refusesTheWriteOnly() {
        farKeys.close();
        farKeys = port.device().register(farAddress, SIZE, VerbsDevice.LOCAL_WRITE | VerbsDevice.REMOTE_READ);
        assertThat(transfer(false, 0, 64, farKeys.remoteKey())).containsExactly(CompletionStatus.SUCCESS);
        near.put(0, (byte) 1);
        assertThat(transfer(true, 0, 64, farKeys.remoteKey())).containsExactly(CompletionStatus.REMOTE_ACCESS);
        assertThat(far.get(0)).isZero();
    }

    @Test
    void close_registration_revokesItsKey() {
        int key = farKeys.remoteKey();
        assertThat(transfer(false, 0, 64, key)).containsExactly(CompletionStatus.SUCCESS);
        farKeys.close();
        assertThat(transfer(false, 0, 64, key)).containsExactly(CompletionStatus.REMOTE_ACCESS);
    }

    @Test
    void close_answeringQueuePair_isRetriesExceeded() {
        answering.close();
        assertThat(transfer(true, 0, 64, farKeys.remoteKey())).containsExactly(CompletionStatus.RETRIES_EXCEEDED);
    }

    @Test
    void revoke_keyThatAPeerKept_readsNothingWhileTheRegionStays() {
        Region region = new RegionRegistry().register(farAddress, SIZE, (offset, length, generation) -> true);
        try (RdmaRegions regions = new RdmaRegions(List.of(port.device()), SIZE / 4)) {
            regions.register(region);
            int quarter = SIZE / 4;
            int[] kept = regions.remoteKeys(region, 0, SIZE, false, new int[] {0});
            far.put(quarter, (byte) 1);
            assertThat(transfer(false, quarter, 64, kept[1])).containsExactly(CompletionStatus.SUCCESS);
            assertThat(near.get(quarter)).isEqualTo((byte) 1);

            regions.revoke(region, quarter + 100, 8);
            far.put(quarter, (byte) 2);
            assertThat(transfer(false, 0, 64, kept[0]))
                    .as("other pieces keep their keys")
                    .containsExactly(CompletionStatus.SUCCESS);
            assertThat(transfer(false, quarter, 64, kept[1])).containsExactly(CompletionStatus.REMOTE_ACCESS);
            assertThat(near.get(quarter)).isEqualTo((byte) 1);
            asking.close();
            answering.close();
            asking = port.create(0);
            answering = port.create(VerbsDevice.REMOTE_READ | VerbsDevice.REMOTE_WRITE);
            port.connect(asking, 7, port.endpoint(answering, 9));
            port.connect(answering, 9, port.endpoint(asking, 7));
            int[] anew = regions.remoteKeys(region, 0, SIZE, false, new int[] {0});
            assertThat(anew).hasSize(4).contains(kept[0], kept[2], kept[3]).doesNotContain(kept[1]);
            assertThat(transfer(false, quarter, 64, anew[1])).containsExactly(CompletionStatus.SUCCESS);
            assertThat(near.get(quarter)).isEqualTo((byte) 2);
        }
    }

    @Test
    void awaitEvent_nothingSaidThenEnded_returnsInTimeThenAtOnce() {
        try (VerbsDevice other = Verbs.open("rxe0")) {
            long began = System.nanoTime();
            assertThat(other.awaitEvent(50)).isNull();
            assertThat(System.nanoTime() - began).isGreaterThan(45_000_000L);
            other.endEvents();
            began = System.nanoTime();
            assertThat(other.awaitEvent(30_000)).isNull();
            assertThat(System.nanoTime() - began).isLessThan(10_000_000_000L);
        }
    }

    @Test
    void path_failsAndWorksAgain_restsLongerAndAsksForTheNextDevice() {
        RdmaPath path = new RdmaPath(port);
        path.peerHas(2);
        assertThat(path.usable()).isTrue();
        assertThat(path.wantedRail()).isZero();
        assertThat(path.failed(0)).isEqualTo(250_000_000L);
        assertThat(path.wantedRail()).isEqualTo(1);
        assertThat(path.failed(0)).isEqualTo(500_000_000L);
        assertThat(path.wantedRail()).isZero();
        assertThat(path.usable()).isFalse();
        for (int i = 0; i < 10; i++) {
            path.failed(7);
        }
        assertThat(path.failed(7)).isEqualTo(8_000_000_000L);
        assertThat(path.restUntilNanos()).isEqualTo(8_000_000_007L);
        path.worked();
        assertThat(path.usable()).isTrue();
        assertThat(path.failed(0)).isEqualTo(250_000_000L);
    }

    @Test
    void path_measured_followsTheSpeedOfLargeTransfers() {
        RdmaPath path = new RdmaPath(port);
        path.measured(1000, 10);
        assertThat(path.speed()).isZero();
        path.measured(1 << 20, 1 << 20);
        assertThat(path.speed()).isEqualTo(1);
        for (int i = 0; i < 40; i++) {
            path.measured(1 << 20, 1 << 23);
        }
        assertThat(path.speed()).isBetween(0.125, 0.126);
    }
}
