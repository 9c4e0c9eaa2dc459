// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.await;
import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.internal.SafetyChecks;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The end of a lease whose reader asks the owner nothing: released, over, or its holder declared gone, while reads run. Needs a device, as
 * {@link RdmaTransferOnDevice}.
 */
final class RdmaLeaseOnDevice {
    private static final int SIZE = 2 << 20;
    private static final int RIGHT = 1;
    private static final int WRONG = 2;

    private final Memory theirs = new Memory(SIZE);
    private final Memory ours = new Memory(SIZE);
    private final TransferStatus[] statuses = new TransferStatus[1];
    private TransferEngine owner;
    private TransferEngine reader;
    private TestLeases leases;

    private void start(SafetyChecks checks) {
        owner = EngineFactory.start(RdmaTransferOnDevice.config(), checks);
        reader = EngineFactory.start(RdmaTransferOnDevice.config(), checks);
        leases = new TestLeases(theirs, theirs.register(owner));
        leases.put(RIGHT, 0, SIZE, SIZE / 16);
        owner.serveLeases(leases);
        ours.register(reader);
    }

    @AfterEach
    void stop() {
        reader.close();
        owner.close();
        assertThat(ours.canariesIntact()).isTrue();
        theirs.close();
        ours.close();
    }

    private RemoteLease lease(Duration term) {
        return reader.lease(owner.address(), "pool", List.of(TestLeases.key(RIGHT)), term, soon());
    }

    private PreparedRead prepared(RemoteLease lease) {
        return reader.prepareRead(lease, List.of(new TransferEngine.ReadRequest(0, ours.address)));
    }

    private TransferStatus run(PreparedRead read) {
        read.run(statuses, System.nanoTime() + 20_000_000_000L);
        return statuses[0];
    }

    /** Reads until it is not COMPLETED any more, and fails at the first copy that is taken for good and is not. */
    private TransferStatus readToTheEnd(PreparedRead read) {
        TransferStatus status = run(read);
        while (status == TransferStatus.COMPLETED) {
            assertThat(ours.holds(RIGHT, 0, SIZE)).as("a copy taken for good").isTrue();
            status = run(read);
        }
        return status;
    }

    /** The owner uses the memory for something else as soon as it may, and does not even move the generation. */
    private Thread reuseWhenUnpinned(AtomicBoolean reused) {
        Thread thread = new Thread(() -> {
            while (leases.pinned.get() > 0) {
                Thread.onSpinWait();
            }
            theirs.fill(WRONG, 0, SIZE);
            reused.set(true);
        });
        thread.start();
        return thread;
    }

    @Test
    void read_leaseReleasedMeanwhile_endsExpiredAndNeverGivesWrongBytes() throws Exception {
        start(SafetyChecks.ALL);
        for (int round = 0; round < 5; round++) {
            theirs.fill(RIGHT, 0, SIZE);
            AtomicBoolean reused = new AtomicBoolean();
            RemoteLease lease = lease(Duration.ofSeconds(30));
            PreparedRead read = prepared(lease);
            assertThat(run(read)).isEqualTo(TransferStatus.COMPLETED);
            Thread reuse = reuseWhenUnpinned(reused);
            Thread release = new Thread(lease::close);
            release.start();
            assertThat(readToTheEnd(read)).isIn(TransferStatus.LEASE_EXPIRED, TransferStatus.CHECKSUM);
            release.join();
            reuse.join();
            assertThat(reused).isTrue();
            assertThat(run(read)).isEqualTo(TransferStatus.LEASE_EXPIRED);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void read_termEndsMeanwhile_isExpiredUnlessTheTermIsNotLookedAt(boolean check) throws Exception {
        start(new SafetyChecks(true, true, check, true, true));
        try (RemoteLease first = lease(Duration.ofSeconds(60))) {
            // Connects.
            assertThat(run(prepared(first))).isEqualTo(TransferStatus.COMPLETED);
        }
        await(() -> leases.pinned.get() == 0);
        RemoteLease lease = lease(Duration.ofSeconds(2));
        PreparedRead read = prepared(lease);
        if (check) {
            AtomicBoolean reused = new AtomicBoolean();
            Thread reuse = reuseWhenUnpinned(reused);
            assertThat(readToTheEnd(read)).isEqualTo(TransferStatus.LEASE_EXPIRED);
            reuse.join();
            assertThat(reused).isTrue();
            assertThat(run(read)).isEqualTo(TransferStatus.LEASE_EXPIRED);
        } else {
            await(() -> leases.pinned.get() == 0);
            // What the owner has given up is still read; only the checksums are left to tell.
            assertThat(run(read)).isEqualTo(TransferStatus.COMPLETED);
        }
    }

    @Test
    void read_checksumsNotLookedAt_isJudgedByTheOwner() {
        start(new SafetyChecks(true, false, true, true, true));
        RemoteLease lease = lease(Duration.ofSeconds(30));
        PreparedRead read = prepared(lease);
        assertThat(run(read)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(owner.statistics().bytesServed()).isEqualTo(SIZE);
        theirs.generation.incrementAndGet();
        theirs.fill(WRONG, 0, SIZE);
        assertThat(run(read)).isEqualTo(TransferStatus.STALE_GENERATION);
    }

    @Test
    void read_holderDeclaredGone_isNotReachedAny() {
        start(SafetyChecks.ALL);
        PreparedRead read = prepared(lease(Duration.ofSeconds(30)));
        assertThat(run(read)).isEqualTo(TransferStatus.COMPLETED);
        owner.peerGone(reader.incarnation());
        await(() -> leases.pinned.get() == 0);
        ours.fill(9, 0, SIZE);
        assertThat(run(read)).isEqualTo(TransferStatus.PEER_UNREACHABLE);
        assertThat(ours.holds(9, 0, SIZE)).isTrue();
    }

    @Test
    void read_leased_isCountedAtTheOwnerWhenReleased() {
        start(SafetyChecks.ALL);
        RemoteLease lease = lease(Duration.ofSeconds(30));
        PreparedRead read = prepared(lease);
        assertThat(run(read)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(run(read)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(reader.statistics().readRdma()).isEqualTo(2L * SIZE);
        assertThat(owner.statistics().bytesServed()).isZero();
        lease.close();
        await(() -> owner.statistics().bytesServed() == 2L * SIZE);
    }
}
