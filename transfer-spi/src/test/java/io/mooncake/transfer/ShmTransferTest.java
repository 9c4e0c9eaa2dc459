// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract over shared memory, and what is special to it. */
final class ShmTransferTest extends TransferContract {
    @TempDir
    static Path folder;

    @BeforeAll
    static void needsBridge() {
        assumeTrue(NativeBridge.available(), "native bridge");
    }

    @Override
    long read(TransferStatistics statistics) {
        return statistics.readShm();
    }

    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    }

    @Override
    Memory memory(int length) {
        return new Memory(length, SharedFile.DEFAULT_FOLDER);
    }

    @Override
    LargeMemory largeMemory(long length) {
        return new LargeMemory(length, SharedFile.DEFAULT_FOLDER);
    }

    @Override
    boolean ownerCountsReads() {
        return false;
    }

    @Override
    void connect() {
        assertThat(reader.path(owner.address(), soon()))
                .isEqualTo(new PathReport(PathReport.Kind.SHARED_MEMORY, PathReport.Kind.SHARED_MEMORY, ""));
    }

    @Test
    void read_leased_isCountedAtTheOwnerWhenReleased() {
        leases.put(1, 0, 1 << 20, 1 << 18);
        // A release that a busy machine sends too late is lost, and the owner ends the lease by its term.
        for (int i = 0; i < 5 && owner.statistics().bytesServed() == 0; i++) {
            try (RemoteLease lease = lease(1)) {
                assertThat(readAll(lease)).containsExactly(TransferStatus.COMPLETED);
                assertThat(readAll(lease)).containsExactly(TransferStatus.COMPLETED);
                assertThat(owner.statistics().bytesServed()).isZero();
            }
            await(() ->
                    owner.statistics().bytesServed() > 0 || owner.statistics().leasesOpen() == 0);
        }
        await(() -> owner.statistics().bytesServed() == 2 << 20);
        assertThat(owner.statistics().requestsServed()).isZero();
    }

    @Test
    void batchTransferSyncWrite_sourceShared_goesBySharedMemoryOnly() {
        readerMemory.fill(1, 0, 5 << 20);
        assertThat(write(handle(0, 5 << 20, true), 5 << 20, 0)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(ownerMemory.holds(1, 0, 5 << 20)).isTrue();
        assertThat(reader.statistics().writtenShm()).isEqualTo(5 << 20);
        assertThat(reader.statistics().writtenTcp()).isZero();
        assertThat(owner.statistics().bytesReceived()).isEqualTo(5 << 20);
    }

    @Test
    void batchTransferSyncWrite_halfOfTheSourcesNotShared_allArriveByEitherWay() {
        int count = 100;
        int slot = 64 << 10;
        Memory hidden = new Memory(count * slot);
        int region = hidden.register(reader);
        long[] sources = new long[count];
        RemoteHandle[] handles = new RemoteHandle[count];
        long[] sizes = new long[count];
        for (int i = 0; i < count; i++) {
            Memory source = i % 2 == 0 ? readerMemory : hidden;
            source.fill(i, i * slot, slot);
            sources[i] = source.address + i * slot;
            handles[i] = handle((long) i * slot, slot, true);
            sizes[i] = 1 + i * 600L;
        }
        assertThat(reader.batchTransferSyncWrite(owner.address(), sources, handles, sizes, soon()))
                .containsOnly(TransferStatus.COMPLETED);
        for (int i = 0; i < count; i++) {
            assertThat(ownerMemory.holds(i, i * slot, (int) sizes[i])).isTrue();
            assertThat(ownerMemory.untouched(i * slot + (int) sizes[i], slot - (int) sizes[i]))
                    .isTrue();
        }
        assertThat(reader.statistics().writtenShm()).isPositive();
        assertThat(reader.statistics().writtenTcp()).isPositive();
        reader.unregisterMemory(region);
        hidden.close();
    }

    @Test
    void read_ownTermOverBeforeTheOwners_endsAsTheOwnerSays() throws Exception {
        ownerMemory.fill(1, 0, 1 << 20);
        try (FaultProxy proxy = new FaultProxy(owner.address(), FaultProxy.Port.CONTROL);
                TransferEngine far = start();
                Memory target = memory(1 << 20)) {
            target.register(far);
            assertThat(far.path(proxy.address(), soon()).reads()).isEqualTo(PathReport.Kind.SHARED_MEMORY);
            assertThat(read(far, proxy.address(), target, handleFor(far, Duration.ofSeconds(30))))
                    .isEqualTo(TransferStatus.COMPLETED);
            // The reader counts its term from before it asked: the longer the way there, the sooner it is over.
            proxy.readerBytes = 0;
            RemoteHandle late = handleFor(far, Duration.ofMillis(8_500));
            Thread way = new Thread(() -> {
                await(() -> late.expiresAtNanos() - System.nanoTime() < 4_000_000_000L);
                proxy.readerBytes = Long.MAX_VALUE;
            });
            way.start();
            assertThat(read(far, proxy.address(), target, late)).isEqualTo(TransferStatus.COMPLETED);
            way.join();
            assertThat(target.holds(1, 0, 1 << 20)).isTrue();
        }
    }

    private RemoteHandle handleFor(TransferEngine holder, Duration term) {
        return owner.issueHandle(holder.incarnation(), ownerRegion, 1, 0, 1 << 20, false, term);
    }

    private static TransferStatus read(TransferEngine holder, PeerAddress peer, Memory target, RemoteHandle handle) {
        return holder.batchTransferSyncRead(
                        peer,
                        new long[] {target.address},
                        new RemoteHandle[] {handle},
                        new long[] {handle.length()},
                        soon())[0];
    }

    @Test
    void batchTransferSyncWrite_moreThreadsThanRequests_allArrive() throws InterruptedException {
        AtomicInteger failed = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        int slot = 1 << 20;
        for (int t = 0; t < 9; t++) {
            int own = t;
            readerMemory.fill(own, own * slot, slot);
            threads.add(new Thread(() -> {
                for (int round = 0; round < 50; round++) {
                    RemoteHandle part = handle((long) own * slot, slot, true);
                    if (write(part, slot - round, own * slot) != TransferStatus.COMPLETED) {
                        failed.incrementAndGet();
                    }
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failed).hasValue(0);
        for (int t = 0; t < 9; t++) {
            assertThat(ownerMemory.holds(t, t * slot, slot)).isTrue();
        }
    }

    @Test
    void batchTransferSyncWrite_backToTheWriter_goesBySharedMemoryToo() {
        ownerMemory.fill(3, 0, 1 << 20);
        RemoteHandle back =
                reader.issueHandle(owner.incarnation(), readerRegion, 1, 0, 1 << 20, true, Duration.ofSeconds(60));
        assertThat(owner.path(reader.address(), soon()).writes()).isEqualTo(PathReport.Kind.SHARED_MEMORY);
        assertThat(owner.batchTransferSyncWrite(
                        reader.address(),
                        new long[] {ownerMemory.address},
                        new RemoteHandle[] {back},
                        new long[] {1 << 20},
                        soon()))
                .containsExactly(TransferStatus.COMPLETED);
        assertThat(readerMemory.holds(3, 0, 1 << 20)).isTrue();
    }

    @Test
    void path_peerGoneAndBack_writesAreShared() {
        owner.peerGone(reader.incarnation());
        reader.peerGone(owner.incarnation());
        assertThat(write(handle(0, 1000, true), 1000, 0)).isEqualTo(TransferStatus.PEER_UNREACHABLE);
        owner.peerBack(reader.incarnation());
        reader.peerBack(owner.incarnation());
        connect();
        readerMemory.fill(1, 0, 1000);
        assertThat(write(handle(0, 1000, true), 1000, 0)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(ownerMemory.holds(1, 0, 1000)).isTrue();
    }

    @Test
    void unregisterMemory_thenReadUnderLease_isRefused() {
        leases.put(1, 0, 1 << 20, 1 << 18);
        try (RemoteLease lease = lease(1)) {
            assertThat(readAll(lease)).containsExactly(TransferStatus.COMPLETED);
            owner.unregisterMemory(ownerRegion);
            assertThat(readAll(lease)).containsExactly(TransferStatus.REFUSED);
        }
    }

    @Test
    void read_regionsComeAndGo_pagesAndMappingsAreReused() {
        for (int round = 0; round < 200; round++) {
            Memory memory = memory(4096);
            memory.fill(round, 0, 4096);
            int region = memory.register(owner);
            RemoteHandle handle =
                    owner.issueHandle(reader.incarnation(), region, 1, 0, 4096, false, Duration.ofSeconds(60));
            assertThat(read(handle, 4096, 0)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(readerMemory.holds(round, 0, 4096)).isTrue();
            owner.unregisterMemory(region);
            memory.close();
        }
        assertThat(owner.statistics().requestsServed()).isZero();
    }

    @Test
    void path_sharedByOneOnly_saysWhyNot() {
        try (TransferEngine plain = start()) {
            PathReport report = reader.path(plain.address(), soon());
            assertThat(report.reads()).isEqualTo(PathReport.Kind.TCP);
            assertThat(report.reason()).contains("shares no memory");
        }
    }

    @Test
    void path_fileSystemOfItsOwn_fallsBackAndSaysWhy() throws Exception {
        // As in containers: the peer is of this kernel, but the name leads nowhere here.
        Path theirs = folder.resolve("theirs");
        java.nio.file.Files.createDirectory(theirs);
        Memory hidden = new Memory(8192, theirs);
        hidden.fill(5, 0, 8192);
        try (TransferEngine other = start()) {
            int region = hidden.register(other);
            java.nio.file.Files.move(theirs, folder.resolve("moved"));
            PathReport report = reader.path(other.address(), soon());
            assertThat(report.reads()).isEqualTo(PathReport.Kind.TCP);
            assertThat(report.reason()).contains("can't be opened here");
            RemoteHandle handle =
                    other.issueHandle(reader.incarnation(), region, 1, 0, 8192, false, Duration.ofSeconds(60));
            assertThat(reader.batchTransferSyncRead(
                            other.address(),
                            new long[] {readerMemory.address},
                            new RemoteHandle[] {handle},
                            new long[] {8192},
                            soon()))
                    .containsExactly(TransferStatus.COMPLETED);
            assertThat(other.statistics().bytesServed()).isEqualTo(8192);
        }
        hidden.close();
    }

    @Test
    void close_owner_readersFindOut() {
        RemoteHandle handle = handle(0, 4096, false);
        assertThat(read(handle, 4096, 0)).isEqualTo(TransferStatus.COMPLETED);
        owner.close();
        assertThat(read(handle, 4096, 0)).isEqualTo(TransferStatus.PEER_UNREACHABLE);
    }
}
