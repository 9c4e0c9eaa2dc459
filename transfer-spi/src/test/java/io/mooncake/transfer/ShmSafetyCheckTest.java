// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.internal.SafetyChecks;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** As {@link SafetyCheckTest}, where no owner stands between the reader and the memory. */
final class ShmSafetyCheckTest {
    private static final int SIZE = 1 << 20;
    private static final int RIGHT = 1;
    private static final int WRONG = 2;

    private Memory ownerMemory;
    private Memory readerMemory;
    private TransferEngine owner;
    private TransferEngine reader;
    private TestLeases leases;
    private int region;

    @BeforeEach
    void needsBridge() {
        assumeTrue(NativeBridge.available(), "native bridge");
        ownerMemory = new Memory(SIZE, SharedFile.DEFAULT_FOLDER);
        readerMemory = new Memory(SIZE, SharedFile.DEFAULT_FOLDER);
    }

    private void start(SafetyChecks checks) {
        TransferEngineConfig config = TransferEngineConfig.of("127.0.0.1", TransferContract.SECRET);
        owner = EngineFactory.start(config, checks);
        reader = EngineFactory.start(config, checks);
        region = ownerMemory.register(owner);
        readerMemory.register(reader);
        leases = new TestLeases(ownerMemory, region);
        leases.put(RIGHT, 0, SIZE, SIZE / 4);
        owner.serveLeases(leases);
        assertThat(reader.path(owner.address(), soon()).reads()).isEqualTo(PathReport.Kind.SHARED_MEMORY);
        assertThat(reader.path(owner.address(), soon()).writes()).isEqualTo(PathReport.Kind.SHARED_MEMORY);
    }

    @AfterEach
    void stop() {
        if (reader != null) {
            reader.close();
            owner.close();
        }
        ownerMemory.close();
        readerMemory.close();
    }

    private RemoteLease lease(Duration term) {
        return reader.lease(owner.address(), "pool", List.of(TestLeases.key(RIGHT)), term, soon());
    }

    private TransferStatus read(RemoteLease lease) {
        return reader.read(lease, List.of(new TransferEngine.ReadRequest(0, readerMemory.address)), soon())[0];
    }

    private void assertWrongOnlyWithout(boolean check, TransferStatus status, TransferStatus withCheck) {
        assertThat(status).isEqualTo(check ? withCheck : TransferStatus.COMPLETED);
        assertThat(check || readerMemory.holds(WRONG, 0, SIZE)).isTrue();
        assertThat(owner.statistics().requestsServed())
                .as("nothing went by TCP")
                .isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void generationCheck_memoryRecycledUnderTheLease(boolean check) {
        start(new SafetyChecks(check, false, true, true, true));
        try (RemoteLease lease = lease(Duration.ofSeconds(9))) {
            ownerMemory.generation.incrementAndGet();
            ownerMemory.fill(WRONG, 0, SIZE);
            assertWrongOnlyWithout(check, read(lease), TransferStatus.STALE_GENERATION);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void checksum_memoryDamagedAfterSealing(boolean check) {
        start(new SafetyChecks(true, check, true, true, true));
        try (RemoteLease lease = lease(Duration.ofSeconds(9))) {
            ownerMemory.fill(WRONG, 0, SIZE);
            assertWrongOnlyWithout(check, read(lease), TransferStatus.CHECKSUM);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void leaseExpiry_memoryReusedAfterTheTermByOneWhoKeepsGenerations(boolean check) throws InterruptedException {
        start(new SafetyChecks(true, false, check, true, true));
        try (RemoteLease lease = lease(Duration.ofMillis(200))) {
            Thread.sleep(600);
            ownerMemory.fill(WRONG, 0, SIZE);
            assertWrongOnlyWithout(check, read(lease), TransferStatus.LEASE_EXPIRED);
        }
    }

    private TransferStatus write(RemoteHandle handle) {
        readerMemory.fill(WRONG, 0, SIZE);
        return reader.batchTransferSyncWrite(
                        owner.address(),
                        new long[] {readerMemory.address},
                        new RemoteHandle[] {handle},
                        new long[] {SIZE},
                        soon())[0];
    }

    private void assertWrittenOnlyWithout(boolean check, TransferStatus status, TransferStatus withCheck) {
        assertThat(status).isEqualTo(check ? withCheck : TransferStatus.COMPLETED);
        assertThat(ownerMemory.holds(check ? RIGHT : WRONG, 0, SIZE)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void generationCheck_memoryRecycledBeforeTheWrite(boolean check) {
        start(new SafetyChecks(check, true, true, true, true));
        RemoteHandle handle = owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, true, Duration.ofSeconds(9));
        ownerMemory.generation.incrementAndGet();
        assertWrittenOnlyWithout(check, write(handle), TransferStatus.STALE_GENERATION);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void capabilityCheck_writeByForgedHandle(boolean check) {
        start(new SafetyChecks(true, true, true, true, check));
        RemoteHandle forged = new RemoteHandle(
                region,
                1,
                0,
                SIZE,
                true,
                System.nanoTime() + Duration.ofSeconds(9).toNanos(),
                new byte[32]);
        assertWrittenOnlyWithout(check, write(forged), TransferStatus.REFUSED);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void leaseExpiry_writeAfterTheTerm(boolean check) throws InterruptedException {
        start(new SafetyChecks(true, true, check, true, true));
        RemoteHandle handle = owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, true, Duration.ofMillis(50));
        Thread.sleep(100);
        assertWrittenOnlyWithout(check, write(handle), TransferStatus.LEASE_EXPIRED);
    }

    /** The owner recycles as fast as it can while the reader reads without checksums: the generation alone must tell. */
    @Test
    void generation_recycledWhileCopying_isNeverMixed() throws InterruptedException {
        start(new SafetyChecks(true, false, true, true, true));
        ownerMemory.generation.incrementAndGet();
        AtomicBoolean stop = new AtomicBoolean();
        Thread recycler = new Thread(() -> {
            byte value = 0;
            while (!stop.get()) {
                ownerMemory.recycle(value++);
            }
        });
        recycler.start();
        int completed = 0;
        int stale = 0;
        int mixed = 0;
        int rounds = Boolean.getBoolean("mooncake.long") ? 20_000 : 1_000;
        try {
            for (int round = 0; round < rounds; round++) {
                try (RemoteLease lease = lease(Duration.ofSeconds(5))) {
                    TransferStatus status = read(lease);
                    if (status != TransferStatus.COMPLETED) {
                        assertThat(status).isEqualTo(TransferStatus.STALE_GENERATION);
                        stale++;
                    } else if (lease.element(0).handle().generation() % 2 == 0) {
                        completed++;
                        mixed += readerMemory.uniform() ? 0 : 1;
                    }
                }
            }
        } finally {
            stop.set(true);
            recycler.join();
        }
        assertThat(mixed).isZero();
        System.out.println("recycled while copying: " + completed + " completed, " + stale + " stale");
        assertThat(stale).isPositive();
    }
}
