// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What every transport must do, between two engines of one process. */
abstract class TransferContract {
    /** Bytes of the large transfers; emulated machines want less. */
    static final int LARGE =
            Integer.getInteger("mooncake.largeMiB", Boolean.getBoolean("mooncake.long") ? 64 : 32) << 20;

    static final int SIZE = LARGE + (16 << 20);
    /** From one target of a lease's elements to the next. */
    private static final int STEP = 3 << 20;

    static final String SECRET = "the secret of the test cluster";

    TransferEngine owner;
    TransferEngine reader;
    Memory ownerMemory;
    Memory readerMemory;
    int ownerRegion;
    int readerRegion;
    TestLeases leases;

    abstract TransferEngine start();

    /** The engine that asks; after {@code owner} has started. */
    TransferEngine startReader() {
        return start();
    }

    /** Memory that the transport can reach; in the test's hands. */
    Memory memory(int length) {
        return new Memory(length);
    }

    LargeMemory largeMemory(long length) {
        return new LargeMemory(length, null);
    }

    /** Whether the owner's program takes part in reads, and so can count them. */
    boolean ownerCountsReads() {
        return true;
    }

    /** Whether a leased read of bytes that are still as they were leased finds out that their generation has moved. */
    boolean leasedReadsSeeGenerations() {
        return true;
    }

    /** Bytes that the transport under test has read. */
    long read(TransferStatistics statistics) {
        return statistics.readTcp();
    }

    /** Brings the engines to the transport under test. */
    void connect() {}

    static Deadline soon() {
        return Deadline.ofMillis(20_000);
    }

    @BeforeEach
    void startEngines() {
        ownerMemory = memory(SIZE);
        readerMemory = memory(SIZE);
        owner = start();
        reader = startReader();
        ownerRegion = ownerMemory.register(owner);
        readerRegion = readerMemory.register(reader);
        leases = new TestLeases(ownerMemory, ownerRegion);
        owner.serveLeases(leases);
        connect();
    }

    @AfterEach
    void stopEngines() {
        reader.close();
        owner.close();
        assertThat(readerMemory.canariesIntact()).isTrue();
        assertThat(ownerMemory.canariesIntact()).isTrue();
        readerMemory.close();
        ownerMemory.close();
    }

    RemoteHandle handle(long offset, long length, boolean writable) {
        return handle(offset, length, writable, Duration.ofSeconds(30));
    }

    RemoteHandle handle(long offset, long length, boolean writable, Duration term) {
        return owner.issueHandle(
                reader.incarnation(), ownerRegion, ownerMemory.generation.get(), offset, length, writable, term);
    }

    TransferStatus read(RemoteHandle handle, int size, int target) {
        return reader.batchTransferSyncRead(
                        owner.address(),
                        new long[] {readerMemory.address + target},
                        new RemoteHandle[] {handle},
                        new long[] {size},
                        soon())[0];
    }

    TransferStatus write(RemoteHandle handle, int size, int source) {
        return reader.batchTransferSyncWrite(
                        owner.address(),
                        new long[] {readerMemory.address + source},
                        new RemoteHandle[] {handle},
                        new long[] {size},
                        soon())[0];
    }

    RemoteLease lease(Duration term, int... keys) {
        List<byte[]> named = new ArrayList<>();
        for (int key : keys) {
            named.add(TestLeases.key(key));
        }
        return reader.lease(owner.address(), "pool", named, term, soon());
    }

    RemoteLease lease(int... keys) {
        return lease(Duration.ofSeconds(60), keys);
    }

    static IntStream readSizes() {
        return IntStream.of(
                1, 2, 63, 64, 65, 103, 104, 105, 4095, 4096, 4097, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073,
                1_048_575, 1_048_576, 1_048_577, 2_097_151, 2_097_153, LARGE - 1, LARGE, LARGE + 1);
    }

    static IntStream writeSizes() {
        return IntStream.of(1, 104, 4095, 65_536, 65_537, 131_073, 262_143, 262_144, 262_145, 1_048_577, LARGE + 1);
    }

    @Test
    void batchTransferSyncRead_anySize_movesExactlyItsBytes() {
        readSizes().forEach(size -> {
            readerMemory.blank(size + 3 * 4096);
            ownerMemory.fill(size, 7, size);
            long readBefore = reader.statistics().bytesRead();
            long byThisWay = read(reader.statistics());
            long served = owner.statistics().bytesServed();
            assertThat(read(handle(7, size, false), size, 4096 + 3))
                    .as("%d bytes", size)
                    .isEqualTo(TransferStatus.COMPLETED);
            assertThat(readerMemory.firstDifference(size, 4096 + 3, size)).isEqualTo(-1);
            assertThat(readerMemory.untouched(0, 4096 + 3)).isTrue();
            assertThat(readerMemory.untouched(4096 + 3 + size, 4096)).isTrue();
            assertThat(reader.statistics().bytesRead() - readBefore).isEqualTo(size);
            assertThat(read(reader.statistics()) - byThisWay).isEqualTo(size);
            assertThat(owner.statistics().bytesServed() - served).isEqualTo(ownerCountsReads() ? size : 0);
        });
    }

    @Test
    void batchTransferSyncWrite_anySize_movesExactlyItsBytes() {
        writeSizes().forEach(size -> {
            ownerMemory.blank(size + 3 * 4096);
            readerMemory.fill(size, 11, size);
            long received = owner.statistics().bytesReceived();
            assertThat(write(handle(4096 + 5, size, true), size, 11))
                    .as("%d bytes", size)
                    .isEqualTo(TransferStatus.COMPLETED);
            assertThat(ownerMemory.firstDifference(size, 4096 + 5, size)).isEqualTo(-1);
            assertThat(ownerMemory.untouched(0, 4096 + 5)).isTrue();
            assertThat(ownerMemory.untouched(4096 + 5 + size, 4096)).isTrue();
            assertThat(owner.statistics().bytesReceived() - received).isEqualTo(size);
        });
    }

    @Test
    void batchTransferSync_sizeOutsideOfTheHandle_throws() {
        long[] addresses = {readerMemory.address};
        RemoteHandle[] handles = {handle(0, 1000, true)};
        for (long size : new long[] {0, -1, Long.MIN_VALUE, 1001, Long.MAX_VALUE}) {
            long[] sizes = {size};
            ThrowingCallable read =
                    () -> reader.batchTransferSyncRead(owner.address(), addresses, handles, sizes, soon());
            ThrowingCallable write =
                    () -> reader.batchTransferSyncWrite(owner.address(), addresses, handles, sizes, soon());
            for (ThrowingCallable call : List.of(read, write)) {
                assertThatThrownBy(call)
                        .hasMessage("sizes[0]: " + size + " (expected: 1..1000)")
                        .extracting("code")
                        .isEqualTo(MooncakeException.Code.INVALID_ARGUMENT);
            }
        }
        assertThat(readerMemory.untouched(0, 4096)).isTrue();
    }

    @Test
    void batchTransferSync_noRequests_hasNoStatuses() {
        assertThat(reader.batchTransferSyncRead(owner.address(), new long[0], new RemoteHandle[0], new long[0], soon()))
                .isEmpty();
    }

    @Test
    void batchTransferSync_callersArray_takesOneStatusARequest() {
        ownerMemory.fill(1, 0, 5000);
        RemoteHandle[] handles = {handle(0, 5000, false), handle(0, 100, false, Duration.ZERO)};
        long[] addresses = {readerMemory.address, readerMemory.address + 8192};
        TransferStatus[] statuses = new TransferStatus[3];
        reader.batchTransferSyncRead(
                owner.address(), addresses, handles, new long[] {5000, 100}, statuses, Long.MAX_VALUE / 2);
        assertThat(statuses).containsExactly(TransferStatus.COMPLETED, TransferStatus.LEASE_EXPIRED, null);
        assertThat(readerMemory.holds(1, 0, 5000)).isTrue();
        reader.batchTransferSyncRead(
                owner.address(), addresses, handles, new long[] {5000, 100}, statuses, System.nanoTime() - 1);
        assertThat(statuses[0]).isEqualTo(TransferStatus.TIMEOUT);
        assertThatThrownBy(() -> reader.batchTransferSyncRead(
                        owner.address(), addresses, handles, new long[] {5000, 100}, new TransferStatus[1], 0))
                .hasMessageContaining("1 statuses");
    }

    @Test
    void prepareRead_runTwice_readsWhatIsThereThenAndEndsWithTheLease() {
        leases.put(1, 0, 1 << 20, 1 << 16);
        TransferStatus[] statuses = new TransferStatus[1];
        PreparedRead prepared;
        try (RemoteLease lease = lease(1)) {
            prepared = reader.prepareRead(lease, List.of(new TransferEngine.ReadRequest(0, readerMemory.address)));
            assertThat(prepared.size()).isEqualTo(1);
            prepared.run(statuses, System.nanoTime() + 20_000_000_000L);
            assertThat(statuses).containsExactly(TransferStatus.COMPLETED);
            assertThat(readerMemory.holds(1, 0, 1 << 20)).isTrue();
            ownerMemory.flip(77);
            prepared.run(statuses, System.nanoTime() + 20_000_000_000L);
            assertThat(statuses).containsExactly(TransferStatus.CHECKSUM);
            assertThatThrownBy(() -> prepared.run(new TransferStatus[0], 0)).hasMessageContaining("statuses: 0");
        }
        prepared.run(statuses, System.nanoTime() + 20_000_000_000L);
        assertThat(statuses).containsExactly(TransferStatus.LEASE_EXPIRED);
    }

    @Test
    @EnabledIfSystemProperty(named = "mooncake.long", matches = "true")
    void batchTransferSync_beyondTwoGiB_movesExactlyItsBytesInOneRequest() {
        long size = (2L << 30) + 12_345;
        try (LargeMemory theirs = largeMemory(size);
                LargeMemory ours = largeMemory(size)) {
            int region = theirs.register(owner);
            int target = ours.register(reader);
            theirs.fill(5);
            RemoteHandle[] handles = {
                owner.issueHandle(reader.incarnation(), region, 0, 0, size, true, Duration.ofSeconds(60))
            };
            long[] addresses = {ours.address};
            long[] sizes = {size};
            assertThat(reader.batchTransferSyncRead(
                            owner.address(), addresses, handles, sizes, Deadline.ofMillis(60_000)))
                    .containsExactly(TransferStatus.COMPLETED);
            assertThat(ours.firstDifference(5)).isEqualTo(-1);
            assertThat(read(reader.statistics())).isEqualTo(size);
            ours.fill(6);
            handles[0] = owner.issueHandle(reader.incarnation(), region, 0, 0, size, true, Duration.ofSeconds(60));
            assertThat(reader.batchTransferSyncWrite(
                            owner.address(), addresses, handles, sizes, Deadline.ofMillis(60_000)))
                    .containsExactly(TransferStatus.COMPLETED);
            assertThat(theirs.firstDifference(6)).isEqualTo(-1);
            owner.unregisterMemory(region);
            reader.unregisterMemory(target);
        }
    }

    @Test
    void batchTransferSyncRead_batchWithOneBadHandle_failsThatOneOnly() {
        int count = 40;
        long[] targets = new long[count];
        long[] sizes = new long[count];
        RemoteHandle[] handles = new RemoteHandle[count];
        for (int i = 0; i < count; i++) {
            ownerMemory.fill(i, i * 500_000, 400_000);
            handles[i] = handle(i * 500_000L, 400_000, false);
            targets[i] = readerMemory.address + i * 500_000L;
            sizes[i] = 400_000;
        }
        RemoteHandle bad = handles[17];
        handles[17] = new RemoteHandle(
                bad.region(),
                bad.generation(),
                bad.offset() + 1,
                bad.length(),
                false,
                bad.expiresAtNanos(),
                bad.capability());
        TransferStatus[] statuses = reader.batchTransferSyncRead(owner.address(), targets, handles, sizes, soon());
        for (int i = 0; i < count; i++) {
            if (i == 17) {
                assertThat(statuses[i]).isEqualTo(TransferStatus.REFUSED);
                assertThat(readerMemory.untouched(i * 500_000, 400_000)).isTrue();
            } else {
                assertThat(statuses[i]).isEqualTo(TransferStatus.COMPLETED);
                assertThat(readerMemory.holds(i, i * 500_000, 400_000)).isTrue();
            }
        }
    }

    @Test
    void batchTransferSyncRead_targetNotRegistered_throws() {
        assertThatThrownBy(() -> read(handle(0, 100, false), 100, SIZE - 50))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("registered memory");
    }

    @Test
    void batchTransferSyncRead_handleOfOtherHolder_isRefusedAndCounted() {
        RemoteHandle foreign =
                owner.issueHandle(java.util.UUID.randomUUID(), ownerRegion, 1, 0, 1000, false, Duration.ofSeconds(60));
        assertThat(read(foreign, 1000, 0)).isEqualTo(TransferStatus.REFUSED);
        assertRefused(1);
    }

    @Test
    void batchTransferSyncRead_everyFieldForged_isRefusedAndCounted() {
        RemoteHandle good = handle(0, 1000, false);
        byte[] flipped = good.capability().clone();
        flipped[31] ^= 1;
        long expiry = good.expiresAtNanos();
        RemoteHandle[] forged = {
            new RemoteHandle(ownerRegion, 1, 0, 1000, false, expiry, flipped),
            new RemoteHandle(ownerRegion, 2, 0, 1000, false, expiry, good.capability()),
            new RemoteHandle(ownerRegion, 1, 0, 1001, false, expiry, good.capability()),
            new RemoteHandle(ownerRegion, 1, 1, 1000, false, expiry, good.capability()),
            new RemoteHandle(ownerRegion, 1, 0, 1000, true, expiry, good.capability()),
            new RemoteHandle(ownerRegion, 1, 0, 1000, false, expiry + 1, good.capability()),
            new RemoteHandle(ownerRegion + 1, 1, 0, 1000, false, expiry, good.capability()),
            new RemoteHandle(ownerRegion, 1, 0, 1000, false, expiry, new byte[0]),
            new RemoteHandle(ownerRegion, 1, SIZE - 10, 1000, false, expiry, good.capability()),
            new RemoteHandle(ownerRegion, 1, Long.MAX_VALUE - 1000, 1000, false, expiry, good.capability()),
        };
        for (RemoteHandle one : forged) {
            assertThat(read(one, 1000, 0)).isEqualTo(TransferStatus.REFUSED);
        }
        assertRefused(forged.length);
        assertThat(read(good, 1000, 0)).isEqualTo(TransferStatus.COMPLETED);
    }

    private void assertRefused(int count) {
        assertThat(owner.statistics().requestsRefused()).isEqualTo(count);
        assertThat(owner.statistics().bytesServed()).isZero();
        assertThat(readerMemory.untouched(0, 4096)).isTrue();
    }

    @Test
    void batchTransferSyncWrite_readOnlyHandle_isRefusedAndNothingArrives() {
        readerMemory.fill(1, 0, 300_000);
        assertThat(write(handle(0, 300_000, false), 300_000, 0)).isEqualTo(TransferStatus.REFUSED);
        assertThat(ownerMemory.untouched(0, 300_000)).isTrue();
        assertThat(write(handle(0, 300_000, true), 300_000, 0)).isEqualTo(TransferStatus.COMPLETED);
    }

    @Test
    void batchTransferSyncRead_handleExpired_isRefused() throws InterruptedException {
        RemoteHandle shortLived = handle(0, 1000, false, Duration.ofMillis(20));
        Thread.sleep(40);
        assertThat(read(shortLived, 1000, 0)).isEqualTo(TransferStatus.LEASE_EXPIRED);
        assertRefused(1);
    }

    @Test
    void batchTransferSyncRead_generationChanged_isStale() {
        RemoteHandle old = handle(0, 1000, false);
        ownerMemory.generation.incrementAndGet();
        assertThat(read(old, 1000, 0)).isEqualTo(TransferStatus.STALE_GENERATION);
        assertRefused(1);
    }

    @Test
    void revoke_rangeOfARegionThatStays_endsOldGrantsAndNewOnesWork() {
        ownerMemory.fill(1, 0, 8192);
        RemoteHandle old = handle(0, 8192, false);
        assertThat(read(old, 8192, 0)).isEqualTo(TransferStatus.COMPLETED);
        ownerMemory.generation.incrementAndGet();
        owner.revoke(ownerRegion, 0, 8192);
        assertThat(read(old, 8192, 0)).isEqualTo(TransferStatus.STALE_GENERATION);
        ownerMemory.fill(2, 0, 8192);
        assertThat(read(handle(0, 8192, false), 8192, 0)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(readerMemory.holds(2, 0, 8192)).isTrue();
        assertThatThrownBy(() -> owner.revoke(ownerRegion, SIZE, 1)).hasMessageContaining("inside a registered region");
        assertThatThrownBy(() -> owner.revoke(99, 0, 1)).hasMessageContaining("99: 0+1");
    }

    @Test
    void batchTransferSyncRead_recycledWhileSending_isStale() {
        AtomicBoolean first = new AtomicBoolean(true);
        int region = ownerMemory.register(owner, (offset, length, generation) -> first.getAndSet(false));
        RemoteHandle handle =
                owner.issueHandle(reader.incarnation(), region, 1, 0, 1000, false, Duration.ofSeconds(60));
        assertThat(read(handle, 1000, 0)).isEqualTo(TransferStatus.STALE_GENERATION);
    }

    @Test
    void read_leasedElements_arriveVerified() {
        leases.put(1, 0, 3 << 20, 1 << 18);
        leases.put(2, 5 << 20, 100_000, 25_000);
        try (RemoteLease lease = lease(1, 99, 2)) {
            assertThat(lease.element(1)).isNull();
            assertThat(leases.pinned).hasValue(2);
            TransferStatus[] statuses = reader.read(
                    lease,
                    List.of(
                            new TransferEngine.ReadRequest(0, readerMemory.address),
                            new TransferEngine.ReadRequest(2, readerMemory.address + (4 << 20))),
                    soon());
            assertThat(statuses).containsOnly(TransferStatus.COMPLETED);
            assertThat(readerMemory.holds(1, 0, 3 << 20)).isTrue();
            assertThat(readerMemory.holds(2, 4 << 20, 100_000)).isTrue();
            assertThat(lease.element(0).description()).containsExactly(1, 2, 3);
            assertThat(owner.statistics().leasesOpen()).isEqualTo(2);
        }
        await(() -> leases.pinned.get() == 0 && owner.statistics().leasesOpen() == 0);
        assertThat(owner.statistics().leasesGranted()).isEqualTo(2);
    }

    @Test
    void leases_granted_areListedUntilTheyEnd() {
        leases.put(1, 0, 1 << 20, 1 << 18);
        leases.put(2, 1 << 20, 1 << 19, 1 << 18);
        try (RemoteLease lease = lease(1, 2)) {
            assertThat(lease.size()).isEqualTo(2);
            assertThat(owner.leases()).singleElement().satisfies(one -> {
                assertThat(one.holder()).isEqualTo(reader.incarnation());
                assertThat(one.elements()).isEqualTo(2);
                assertThat(one.bytes()).isEqualTo((1 << 20) + (1 << 19));
                assertThat(one.leftNanos())
                        .isLessThanOrEqualTo(Duration.ofSeconds(60).toNanos());
            });
        }
        await(() -> !owner.leases().iterator().hasNext());
    }

    @Test
    void regions_registered_areListedUntilTheyEnd() {
        assertThat(owner.regions())
                .anyMatch(region -> region.id() == ownerRegion && region.bytes() == ownerMemory.length);
        assertThat(owner.queues()).isEmpty();
        owner.unregisterMemory(ownerRegion);
        assertThat(owner.regions()).noneMatch(region -> region.id() == ownerRegion);
    }

    @Test
    void read_bitFlippedAfterSealing_isChecksum() {
        leases.put(1, 0, 3 << 20, 1 << 18);
        ownerMemory.flip((2 << 20) + 12345);
        try (RemoteLease lease = lease(1)) {
            assertThat(readAll(lease)).containsExactly(TransferStatus.CHECKSUM);
        }
    }

    TransferStatus[] readAll(RemoteLease lease) {
        List<TransferEngine.ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < lease.size(); i++) {
            requests.add(new TransferEngine.ReadRequest(i, readerMemory.address + (long) i * STEP));
        }
        return reader.read(lease, requests, soon());
    }

    @Test
    void read_afterTerm_isExpiredAndOwnerUnpins() {
        leases.put(1, 0, 1 << 20, 1 << 18);
        try (RemoteLease first = lease(1)) {
            // Connects.
            assertThat(readAll(first)).containsExactly(TransferStatus.COMPLETED);
        }
        RemoteLease lease = lease(Duration.ofSeconds(2), 1);
        TransferStatus[] statuses = readAll(lease);
        // A busy machine may take longer than the term.
        for (int i = 0; i < 20 && statuses[0] == TransferStatus.LEASE_EXPIRED && lease.expired(); i++) {
            lease = lease(Duration.ofSeconds(2), 1);
            statuses = readAll(lease);
        }
        assertThat(statuses).containsExactly(TransferStatus.COMPLETED);
        await(lease::expired);
        assertThat(readAll(lease)).containsExactly(TransferStatus.LEASE_EXPIRED);
        await(() -> leases.pinned.get() == 0 && owner.statistics().leasesOpen() == 0);
    }

    /** How leased elements are read. */
    enum LeasedForm {
        SINGLE,
        BATCH,
        PREPARED,
        TICKET
    }

    private TransferStatus[] read(LeasedForm form, RemoteLease lease) {
        List<TransferEngine.ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < (form == LeasedForm.SINGLE ? 1 : lease.size()); i++) {
            requests.add(new TransferEngine.ReadRequest(i, readerMemory.address + (long) i * STEP));
        }
        return switch (form) {
            case SINGLE, BATCH -> reader.read(lease, requests, soon());
            case PREPARED -> {
                TransferStatus[] statuses = new TransferStatus[requests.size()];
                reader.prepareRead(lease, requests).run(statuses, System.nanoTime() + 20_000_000_000L);
                yield statuses;
            }
            case TICKET ->
                reader.submitRead(lease, requests, soon()).await(soon()).orElseThrow();
        };
    }

    @ParameterizedTest
    @EnumSource(LeasedForm.class)
    void read_leaseEndsMeanwhile_everyFormSaysSoAndNothingReusedIsBelieved(LeasedForm form) throws Exception {
        int elements = 4;
        int length = 2 << 20;
        int[] keys = new int[elements];
        for (int i = 0; i < elements; i++) {
            keys[i] = i;
            leases.put(i, i * STEP, length, 1 << 18);
        }
        RemoteLease lease = lease(Duration.ofMillis(250), keys);
        // The memory is wanted by others: it finds another use as soon as nothing is pinned.
        Thread pressure = new Thread(() -> {
            await(() -> leases.pinned.get() == 0);
            ownerMemory.generation.incrementAndGet();
            ownerMemory.fill(99, 0, elements * STEP);
        });
        pressure.start();
        boolean ended = false;
        while (!ended) {
            TransferStatus[] statuses = read(form, lease);
            for (int i = 0; i < statuses.length; i++) {
                assertThat(statuses[i]).isIn(TransferStatus.COMPLETED, TransferStatus.LEASE_EXPIRED);
                ended |= statuses[i] == TransferStatus.LEASE_EXPIRED;
                if (statuses[i] == TransferStatus.COMPLETED) {
                    assertThat(readerMemory.holds(i, i * STEP, length)).isTrue();
                }
            }
        }
        assertThat(lease.expired()).isTrue();
        assertThat(read(form, lease)).containsOnly(TransferStatus.LEASE_EXPIRED);
        pressure.join();
        assertThat(read(form, lease)).containsOnly(TransferStatus.LEASE_EXPIRED);
    }

    @Test
    void batchTransferSync_handleEndsMeanwhile_singleBatchAndPartsEndAlike() {
        int size = 1 << 20;
        readerMemory.fill(5, 0, size);
        for (boolean write : new boolean[] {false, true}) {
            RemoteHandle handle = handle(0, size, write, Duration.ofMillis(150));
            boolean ended = false;
            while (!ended) {
                TransferStatus status = write ? write(handle, size, 0) : read(handle, size, 0);
                assertThat(status).isIn(TransferStatus.COMPLETED, TransferStatus.LEASE_EXPIRED);
                ended = status == TransferStatus.LEASE_EXPIRED;
            }
            RemoteHandle[] handles = {handle, handle, handle};
            long[] addresses = {readerMemory.address, readerMemory.address + size, readerMemory.address + 2 * size};
            long[] sizes = {size, 1, size / 3};
            assertThat(
                            write
                                    ? reader.batchTransferSyncWrite(owner.address(), addresses, handles, sizes, soon())
                                    : reader.batchTransferSyncRead(owner.address(), addresses, handles, sizes, soon()))
                    .containsOnly(TransferStatus.LEASE_EXPIRED);
        }
    }

    @Test
    void batchTransferSyncWrite_olderAttemptAfterANewerOne_isStaleAndChangesNothing() {
        int size = 300_000;
        RemoteHandle older = handle(0, size, true);
        readerMemory.fill(1, 0, size);
        assertThat(write(older, size, 0)).isEqualTo(TransferStatus.COMPLETED);
        ownerMemory.generation.incrementAndGet();
        owner.revoke(ownerRegion, 0, size);
        readerMemory.fill(2, 0, size);
        assertThat(write(handle(0, size, true), size, 0)).isEqualTo(TransferStatus.COMPLETED);
        readerMemory.fill(3, 0, size);
        assertThat(write(older, size, 0)).isEqualTo(TransferStatus.STALE_GENERATION);
        assertThat(ownerMemory.holds(2, 0, size)).isTrue();
        assertThat(read(older, size, 0)).isEqualTo(TransferStatus.STALE_GENERATION);
    }

    @Test
    void peerGone_holderWithLease_unpinsAndRefusesBothWays() {
        leases.put(1, 0, 1 << 20, 1 << 18);
        RemoteLease lease = lease(1);
        owner.peerGone(reader.incarnation());
        await(() -> leases.pinned.get() == 0);
        // By a connection that was cut, or by the word of the owner's control plane, which RDMA asks.
        assertThat(readAll(lease)[0]).isIn(TransferStatus.PEER_UNREACHABLE, TransferStatus.REFUSED);
        reader.peerGone(owner.incarnation());
        long before = System.nanoTime();
        assertThat(read(handle(0, 100, false), 100, 0)).isEqualTo(TransferStatus.PEER_UNREACHABLE);
        assertThatThrownBy(() -> lease(1)).extracting("code").isEqualTo(MooncakeException.Code.PEER_UNREACHABLE);
        assertThat(System.nanoTime() - before).isLessThan(10_000_000_000L);
    }

    @Test
    void peerBack_afterGoneBothWays_worksAgainButOldLeasesStayEnded() {
        leases.put(1, 0, 1 << 20, 1 << 18);
        ownerMemory.fill(1, 0, 1 << 20);
        RemoteLease old = lease(1);
        owner.peerGone(reader.incarnation());
        reader.peerGone(owner.incarnation());
        await(() -> leases.pinned.get() == 0);

        owner.peerBack(reader.incarnation());
        reader.peerBack(owner.incarnation());

        RemoteLease fresh = lease(1);
        assertThat(leases.pinned.get()).isEqualTo(1);
        assertThat(readAll(fresh)).containsExactly(TransferStatus.COMPLETED);
        old.close();
        assertThat(readAll(old)).containsExactly(TransferStatus.LEASE_EXPIRED);
        fresh.close();
        await(() -> leases.pinned.get() == 0);
    }

    @Test
    void batchTransferSyncRead_interrupted_isCanceledAndKeepsTheFlag() {
        RemoteHandle handle = handle(0, 1000, false);
        assertThat(read(handle, 1000, 0)).isEqualTo(TransferStatus.COMPLETED);
        Thread.currentThread().interrupt();
        assertThat(read(handle, 1000, 0)).isEqualTo(TransferStatus.CANCELED);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(read(handle, 1000, 0)).isEqualTo(TransferStatus.COMPLETED);
    }

    @Test
    void request_toItself_isAnswered() {
        leases.put(1, 0, 1 << 20, 1 << 18);
        try (RemoteLease own =
                owner.lease(owner.address(), "pool", List.of(TestLeases.key(1)), Duration.ofSeconds(1), soon())) {
            assertThat(own.element(0)).isNotNull();
        }
    }

    @Test
    void unregisterMemory_transfersUnderWay_returnsWhenTheyLeft() throws InterruptedException {
        RemoteHandle handle = handle(0, LARGE, false);
        ownerMemory.fill(1, 0, LARGE);
        CountDownLatch started = new CountDownLatch(2);
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 2; t++) {
            int half = t * (LARGE / 2);
            threads.add(new Thread(() -> {
                started.countDown();
                while (!stop.get() && read(handle, LARGE / 2, half) == TransferStatus.COMPLETED) {}
            }));
        }
        threads.forEach(Thread::start);
        started.await();
        Thread.sleep(50);
        owner.unregisterMemory(ownerRegion);
        long served = owner.statistics().bytesServed();
        ownerMemory.fill(2, 0, 1 << 20);
        stop.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(owner.statistics().bytesServed()).isEqualTo(served);
        assertThat(read(handle, 1000, 0)).isEqualTo(TransferStatus.REFUSED);
    }

    @Test
    void submit_readsAndWritesOfAllSizes_endWithTheirOwnStatus() {
        int count = 24;
        int slot = 1 << 20;
        List<TransferOperation> operations = new ArrayList<>();
        Deadline shared = soon();
        for (int i = 0; i < count; i++) {
            int size = 1 + i * 40_001;
            boolean write = i % 3 == 0;
            (write ? readerMemory : ownerMemory).fill(i, i * slot, size);
            RemoteHandle handle = handle((long) i * slot, size, write);
            if (i == 7) {
                handle = new RemoteHandle(
                        handle.region(), 1, handle.offset(), size, false, handle.expiresAtNanos(), new byte[32]);
            }
            operations.add(new TransferOperation(
                    write,
                    owner.address(),
                    readerMemory.address + (long) i * slot,
                    handle,
                    size,
                    i % 2 == 0 ? shared : soon()));
        }
        TransferTicket ticket = reader.submit(operations);
        assertThat(ticket.size()).isEqualTo(count);
        TransferStatus[] statuses = ticket.await(soon()).orElseThrow();
        assertThat(ticket.done()).isTrue();
        assertThat(ticket.completion().toCompletableFuture().join()).containsExactly(statuses);
        for (int i = 0; i < count; i++) {
            assertThat(ticket.poll(i)).contains(statuses[i]);
            assertThat(statuses[i])
                    .as("request %d", i)
                    .isEqualTo(i == 7 ? TransferStatus.REFUSED : TransferStatus.COMPLETED);
            if (i != 7) {
                Memory target = i % 3 == 0 ? ownerMemory : readerMemory;
                assertThat(target.holds(i, i * slot, 1 + i * 40_001)).isTrue();
            }
        }
        assertThat(reader.submit(List.of()).await(soon()))
                .hasValueSatisfying(none -> assertThat(none).isEmpty());
    }

    @Test
    void submit_oneDeadlinePassed_endsThatOneOnly() throws InterruptedException {
        Deadline passed = Deadline.ofMillis(1);
        Thread.sleep(5);
        RemoteHandle handle = handle(0, 1000, false);
        TransferTicket ticket = reader.submit(List.of(
                TransferOperation.read(owner.address(), readerMemory.address, handle, 1000, passed),
                TransferOperation.read(owner.address(), readerMemory.address + 5000, handle, 1000, soon())));
        assertThat(ticket.await(soon()).orElseThrow())
                .containsExactly(TransferStatus.TIMEOUT, TransferStatus.COMPLETED);
    }

    @Test
    void submit_canceled_endsSoonAndLeavesTheMemoryAlone() {
        int size = LARGE;
        RemoteHandle handle = handle(0, size, false);
        List<TransferOperation> operations = new ArrayList<>();
        Deadline deadline = Deadline.ofMillis(120_000);
        for (int i = 0; i < 40; i++) {
            operations.add(TransferOperation.read(owner.address(), readerMemory.address, handle, size, deadline));
        }
        boolean canceled = false;
        // This thread may be held up until all is done.
        for (int i = 0; i < 20 && !canceled; i++) {
            TransferTicket ticket = reader.submit(operations);
            ticket.cancel();
            ticket.cancel();
            TransferStatus[] statuses = ticket.await(soon()).orElseThrow();
            assertThat(statuses)
                    .allMatch(status -> status == TransferStatus.CANCELED || status == TransferStatus.COMPLETED);
            canceled = Arrays.asList(statuses).contains(TransferStatus.CANCELED);
        }
        assertThat(canceled).isTrue();
        readerMemory.fill(3, 0, 1 << 20);
        java.util.concurrent.locks.LockSupport.parkNanos(50_000_000);
        assertThat(readerMemory.holds(3, 0, 1 << 20)).isTrue();
        assertThat(read(handle, 1000, 0)).isEqualTo(TransferStatus.COMPLETED);
    }

    @Test
    void submit_memoryNotRegistered_isCanceled() {
        TransferTicket ticket = reader.submit(
                List.of(TransferOperation.read(owner.address(), 4096, handle(0, 1000, false), 1000, soon())));
        assertThat(ticket.await(soon()).orElseThrow()).containsExactly(TransferStatus.CANCELED);
    }

    @Test
    void submitRead_leasedElements_arriveVerified() {
        leases.put(1, 0, 3 << 20, 1 << 18);
        leases.put(2, 5 << 20, 100_000, 25_000);
        ownerMemory.flip((5 << 20) + 3);
        try (RemoteLease lease = lease(1, 2)) {
            TransferTicket ticket = reader.submitRead(
                    lease,
                    List.of(
                            new TransferEngine.ReadRequest(0, readerMemory.address),
                            new TransferEngine.ReadRequest(1, readerMemory.address + (4 << 20))),
                    soon());
            assertThat(ticket.await(soon()).orElseThrow())
                    .containsExactly(TransferStatus.COMPLETED, TransferStatus.CHECKSUM);
            assertThat(readerMemory.holds(1, 0, 3 << 20)).isTrue();
        }
    }

    @Test
    void close_ticketsUnderWay_allEnd() {
        int size = LARGE;
        RemoteHandle handle = handle(0, size, false);
        List<TransferTicket> tickets = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            tickets.add(reader.submit(
                    List.of(TransferOperation.read(owner.address(), readerMemory.address, handle, size, soon()))));
        }
        reader.close();
        for (TransferTicket ticket : tickets) {
            assertThat(ticket.await(soon()).orElseThrow()[0])
                    .isIn(TransferStatus.COMPLETED, TransferStatus.CANCELED, TransferStatus.PEER_UNREACHABLE);
        }
    }

    @Test
    void notifyPeer_listenerSet_hearsWhoAndWhat() {
        AtomicBoolean heard = new AtomicBoolean();
        assertThatThrownBy(() -> reader.notifyPeer(owner.address(), new byte[] {1}, soon())
                        .toCompletableFuture()
                        .join())
                .hasCauseInstanceOf(MooncakeException.class);
        owner.onNotification((from, payload) ->
                heard.set(from.equals(reader.incarnation()) && payload.length == 2 && payload[1] == 9));
        reader.notifyPeer(owner.address(), new byte[] {8, 9}, soon())
                .toCompletableFuture()
                .join();
        assertThat(heard).isTrue();
        assertThat(owner.rpcPort()).isEqualTo(owner.address().controlPort());
    }

    @Test
    void batchRegisterMemory_oneIsWrong_registersNone() {
        Memory more = new Memory(8192);
        assertThatThrownBy(() ->
                        owner.batchRegisterMemory(new long[] {more.address, 0}, new long[] {4096, 4096}, more.guard()))
                .isInstanceOf(MooncakeException.class);
        int[] ids = owner.batchRegisterMemory(
                new long[] {more.address, more.address + 4096}, new long[] {4096, 4096}, more.guard());
        assertThat(ids).hasSize(2).doesNotHaveDuplicates();
        more.fill(1, 4096, 4096);
        RemoteHandle handle =
                owner.issueHandle(reader.incarnation(), ids[1], 1, 0, 4096, false, Duration.ofSeconds(60));
        assertThat(read(handle, 4096, 0)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(readerMemory.holds(1, 0, 4096)).isTrue();
        owner.unregisterMemory(ids[0]);
        owner.unregisterMemory(ids[1]);
        more.close();
    }

    @Test
    void randomised_readsWritesAndRecycling_neverGiveWrongBytes() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("randomised_readsWritesAndRecycling mooncake.seed=" + seed);
        Random random = new Random(seed);
        int rounds = Boolean.getBoolean("mooncake.long") ? 2000 : LARGE < 16 << 20 ? 30 : 120;
        int slot = 1 << 20;
        for (int round = 0; round < rounds; round++) {
            int count = 1 + random.nextInt(8);
            int[] keys = new int[count];
            for (int i = 0; i < count; i++) {
                keys[i] = round * 8 + i;
                int segment = 1 + random.nextInt(100_000);
                leases.put(keys[i], i * slot, segment * (1 + random.nextInt(slot / segment)), segment);
            }
            boolean recycled = random.nextInt(4) == 0;
            int flipped = random.nextInt(4) == 0 ? random.nextInt(count) : -1;
            try (RemoteLease lease = lease(keys)) {
                if (recycled) {
                    ownerMemory.generation.incrementAndGet();
                }
                if (flipped >= 0) {
                    ownerMemory.flip(flipped * slot
                            + random.nextInt(
                                    (int) lease.element(flipped).handle().length()));
                }
                TransferStatus[] statuses = readAll(lease);
                for (int i = 0; i < count; i++) {
                    TransferStatus expected = recycled
                            ? TransferStatus.STALE_GENERATION
                            : i == flipped ? TransferStatus.CHECKSUM : TransferStatus.COMPLETED;
                    if (recycled && i != flipped && !leasedReadsSeeGenerations()) {
                        // What was leased is still there; whether the owner was asked is not told.
                        assertThat(statuses[i])
                                .as("seed %d round %d element %d", seed, round, i)
                                .isIn(TransferStatus.COMPLETED, TransferStatus.STALE_GENERATION);
                        expected = Objects.requireNonNull(statuses[i]);
                    }
                    assertThat(statuses[i])
                            .as("seed %d round %d element %d", seed, round, i)
                            .isEqualTo(expected);
                    if (expected == TransferStatus.COMPLETED) {
                        int length = (int) lease.element(i).handle().length();
                        assertThat(readerMemory.holds(keys[i], i * STEP, length))
                                .isTrue();
                    }
                }
            }
        }
        await(() -> leases.pinned.get() == 0);
    }

    static void await(java.util.function.BooleanSupplier condition) {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("condition in time").isLessThan(until);
            java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
        }
    }
}
