// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.Deadline;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Members that ask over shared memory for what they were not granted: slowed, then cut on every way, and counted. */
final class ShmAbuseTest {
    private static final int SIZE = 1 << 20;
    private static final int FORGERIES = 100_000;
    private static final int BATCH = 4_000;
    /** What may be refused at once before a peer is slowed, and how often it is slowed before it is put out. */
    private static final int AT_ONCE = 1000;

    private static final int SLOWED = 64;

    private Memory ownerMemory;
    private Memory abuserMemory;
    private TransferEngine owner;
    private TransferEngine abuser;
    private int region;

    @BeforeEach
    void start() {
        assumeTrue(NativeBridge.available(), "native bridge");
        ownerMemory = new Memory(SIZE, SharedFile.DEFAULT_FOLDER);
        abuserMemory = new Memory(SIZE, SharedFile.DEFAULT_FOLDER);
        owner = engine();
        abuser = engine();
        region = ownerMemory.register(owner);
        abuserMemory.register(abuser);
        attach(abuser);
    }

    private static TransferEngine engine() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", TransferContract.SECRET));
    }

    private void attach(TransferEngine peer) {
        PathReport report = peer.path(owner.address(), soon());
        assertThat(report.reads()).isEqualTo(PathReport.Kind.SHARED_MEMORY);
        assertThat(report.writes()).isEqualTo(PathReport.Kind.SHARED_MEMORY);
    }

    @AfterEach
    void stop() {
        if (owner != null) {
            abuser.close();
            owner.close();
            abuserMemory.close();
            ownerMemory.close();
        }
    }

    private RemoteHandle forged() {
        RemoteHandle good = owner.issueHandle(abuser.incarnation(), region, 1, 0, SIZE, true, Duration.ofSeconds(30));
        byte[] capability = good.capability().clone();
        capability[5] ^= 1;
        return new RemoteHandle(region, good.generation(), 0, SIZE, true, good.expiresAtNanos(), capability);
    }

    private static TransferStatus[] write(
            TransferEngine from, PeerAddress to, long source, RemoteHandle handle, int count, Deadline deadline) {
        long[] sources = new long[count];
        RemoteHandle[] handles = new RemoteHandle[count];
        long[] sizes = new long[count];
        Arrays.fill(sources, source);
        Arrays.fill(handles, handle);
        Arrays.fill(sizes, 8);
        return from.batchTransferSyncWrite(to, sources, handles, sizes, deadline);
    }

    @Test
    void forgedWrites_inAHurry_arePutOutOnEveryWayAndCountedExactly() {
        RemoteHandle forged = forged();
        long began = System.nanoTime();
        long refused = 0;
        long unanswered = 0;
        for (int sent = 0; sent < FORGERIES; sent += BATCH) {
            // Long enough for all pauses together, and short once it is out.
            Deadline deadline = Deadline.ofMillis(unanswered == 0 ? 20_000 : 50);
            for (TransferStatus status :
                    write(abuser, owner.address(), abuserMemory.address, forged, BATCH, deadline)) {
                assertThat(status).isNotEqualTo(TransferStatus.COMPLETED);
                refused += status == TransferStatus.REFUSED ? 1 : 0;
                unanswered += status == TransferStatus.REFUSED ? 0 : 1;
            }
        }
        long seconds = Duration.ofNanos(System.nanoTime() - began).toSeconds();
        System.out.println("forged writes by shared memory: " + refused + " answered, " + unanswered + " not");
        // An answer may come after the deadline.
        long counted = owner.refusals().get(RefusalCause.FORGED);
        assertThat(counted).isBetween(refused, refused + unanswered);
        assertThat(owner.statistics().requestsRefused()).isEqualTo(counted);
        // The bucket drains by so many a second.
        assertThat(counted).isBetween((long) AT_ONCE + SLOWED, (seconds + 2) * AT_ONCE + SLOWED + 1);
        assertThat(owner.statistics().bytesReceived()).isZero();
        assertThat(ownerMemory.untouched(0, SIZE)).isTrue();
        assertOutOnEveryWay();
        assertOthersAreServed();
    }

    /** Its good handles are worth nothing either, and it finds no way back in. */
    private void assertOutOnEveryWay() {
        RemoteHandle good = owner.issueHandle(abuser.incarnation(), region, 1, 0, SIZE, true, Duration.ofSeconds(30));
        Deadline brief = Deadline.ofMillis(300);
        assertThat(write(abuser, owner.address(), abuserMemory.address, good, 1, brief)[0])
                .isNotEqualTo(TransferStatus.COMPLETED);
        try (Memory plain = new Memory(4096)) {
            int own = plain.register(abuser);
            assertThat(write(abuser, owner.address(), plain.address, good, 1, Deadline.ofMillis(300))[0])
                    .as("by TCP")
                    .isNotEqualTo(TransferStatus.COMPLETED);
            abuser.unregisterMemory(own);
        }
        assertThat(owner.statistics().bytesReceived()).isZero();
        assertThat(ownerMemory.untouched(0, SIZE)).isTrue();
    }

    private void assertOthersAreServed() {
        try (Memory memory = new Memory(SIZE, SharedFile.DEFAULT_FOLDER);
                TransferEngine good = engine()) {
            memory.register(good);
            attach(good);
            memory.fill(9, 0, 8);
            RemoteHandle handle =
                    owner.issueHandle(good.incarnation(), region, 1, 0, SIZE, true, Duration.ofSeconds(30));
            assertThat(write(good, owner.address(), memory.address, handle, 1, soon()))
                    .containsExactly(TransferStatus.COMPLETED);
            assertThat(good.statistics().writtenShm()).isEqualTo(8);
            assertThat(ownerMemory.holds(9, 0, 8)).isTrue();
        }
    }

    /** As it would be over TCP: what honest peers meet weighs an eighth, so a thousand of them are just answered. */
    @Test
    void staleWrites_aThousand_areAnsweredAndTheWayStays() {
        RemoteHandle stale = owner.issueHandle(abuser.incarnation(), region, 2, 0, SIZE, true, Duration.ofSeconds(30));
        assertThat(write(abuser, owner.address(), abuserMemory.address, stale, 1_500, soon()))
                .containsOnly(TransferStatus.STALE_GENERATION);
        assertThat(owner.refusals().get(RefusalCause.STALE)).isEqualTo(1_500);
        RemoteHandle good = owner.issueHandle(abuser.incarnation(), region, 1, 0, SIZE, true, Duration.ofSeconds(30));
        assertThat(write(abuser, owner.address(), abuserMemory.address, good, 1, soon()))
                .containsExactly(TransferStatus.COMPLETED);
        assertThat(abuser.statistics().writtenTcp()).isZero();
    }

    /** Handles for reads are shown to their owner once; who shows it forged ones is put out as well. */
    @Test
    void forgedReads_inAHurry_arePutOut() {
        RemoteHandle forged = forged();
        int refused = 0;
        int count = 2_000;
        long[] targets = new long[count];
        RemoteHandle[] handles = new RemoteHandle[count];
        long[] sizes = new long[count];
        Arrays.fill(targets, abuserMemory.address);
        Arrays.fill(handles, forged);
        Arrays.fill(sizes, 8);
        for (TransferStatus status :
                abuser.batchTransferSyncRead(owner.address(), targets, handles, sizes, Deadline.ofMillis(3_000))) {
            assertThat(status).isNotEqualTo(TransferStatus.COMPLETED);
            refused += status == TransferStatus.REFUSED ? 1 : 0;
        }
        assertThat(refused).isLessThan(count);
        assertThat(owner.statistics().bytesServed()).isZero();
        RemoteHandle good = owner.issueHandle(abuser.incarnation(), region, 1, 0, SIZE, true, Duration.ofSeconds(30));
        assertThat(write(abuser, owner.address(), abuserMemory.address, good, 1, Deadline.ofMillis(300))[0])
                .as("by the other way")
                .isNotEqualTo(TransferStatus.COMPLETED);
    }
}
