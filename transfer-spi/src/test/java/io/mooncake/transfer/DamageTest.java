// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.Damage.Kind;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Bytes that change, vanish, come twice, change places or belong elsewhere, on their way between two engines, at random places. */
final class DamageTest {
    private static final int BLOCKS = 40;
    private static final int STEP = 64 << 10;
    private static final int SIZE = BLOCKS * STEP;
    private static final int OTHER = 77_000;
    private static final long GRACE_NANOS = 20_000_000_000L;

    private final Memory ownerMemory = new Memory(SIZE);
    private final Memory readerMemory = new Memory(SIZE);
    private final Random random;
    private final long seed = Long.getLong("mooncake.seed", System.nanoTime());
    private TransferEngine owner;
    private TransferEngine reader;
    private int region;
    private TestLeases leases;
    private @Nullable FaultProxy proxy;

    DamageTest() {
        System.out.println("DamageTest mooncake.seed=" + seed);
        random = new Random(seed);
    }

    /** Whether another round is due: a damage drawn beyond the end of a short stream does not happen. */
    private static boolean more(int round, int usually, int happened) {
        return round < rounds(usually) || (happened == 0 && round < 200);
    }

    private static int rounds(int usually) {
        return Boolean.getBoolean("mooncake.long") ? 40 * usually : usually;
    }

    private void start(@Nullable TlsConfig tls, int connections) {
        TransferEngineConfig config = TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(TransferProtocol.TCP)
                .tls(tls)
                .connectionsPerPeer(connections)
                .build();
        owner = TransferEngine.start(config);
        reader = TransferEngine.start(config);
        region = ownerMemory.register(owner);
        readerMemory.register(reader);
        leases = new TestLeases(ownerMemory, region);
        for (int i = 0; i < BLOCKS; i++) {
            leases.put(i, i * STEP, length(i), i % 4 == 0 ? length(i) / 3 : length(i));
        }
        owner.serveLeases(leases);
    }

    /** Many blocks are so short that frames are a good part of the stream. */
    private static int length(int block) {
        return block % 4 == 0 ? 60_000 : 300 + 61 * block;
    }

    @AfterEach
    void stop() throws IOException {
        if (proxy != null) {
            proxy.close();
        }
        reader.close();
        owner.close();
        assertThat(readerMemory.canariesIntact()).isTrue();
        assertThat(ownerMemory.canariesIntact()).isTrue();
        readerMemory.close();
        ownerMemory.close();
    }

    private static List<byte[]> keys() {
        List<byte[]> keys = new ArrayList<>();
        for (int i = 0; i < BLOCKS; i++) {
            keys.add(TestLeases.key(i));
        }
        return keys;
    }

    private RemoteLease lease(PeerAddress peer, int millis) {
        return reader.lease(peer, "pool", keys(), Duration.ofSeconds(5), Deadline.ofMillis(millis));
    }

    /** Reads all blocks of the lease; what is called complete must be right. */
    private TransferStatus[] read(RemoteLease lease, int millis) {
        readerMemory.fill(OTHER, 0, SIZE);
        List<TransferEngine.ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < BLOCKS; i++) {
            requests.add(new TransferEngine.ReadRequest(i, readerMemory.address + (long) i * STEP));
        }
        long before = System.nanoTime();
        TransferStatus[] statuses = reader.read(lease, requests, Deadline.ofMillis(millis));
        assertThat(System.nanoTime() - before).isLessThan(millis * 1_000_000L + GRACE_NANOS);
        for (int i = 0; i < BLOCKS; i++) {
            if (statuses[i] == TransferStatus.COMPLETED) {
                assertThat(readerMemory.firstDifference(i, i * STEP, length(i)))
                        .as("block %d, seed %d", i, seed)
                        .isEqualTo(-1);
            }
        }
        return statuses;
    }

    private static boolean complete(TransferStatus[] statuses) {
        return Arrays.stream(statuses).allMatch(status -> status == TransferStatus.COMPLETED);
    }

    /** Until the peer is heard again. */
    private void awaitSound(String after) {
        long until = System.nanoTime() + 60_000_000_000L;
        boolean sound = false;
        while (!sound) {
            assertThat(System.nanoTime()).as(after).isLessThan(until);
            try (RemoteLease lease = lease(proxy.address(), 20_000)) {
                sound = complete(read(lease, 3000));
            }
        }
    }

    private long noticed() {
        TransferStatistics statistics = owner.statistics();
        return statistics.requestsRefused() + statistics.authenticationFailures();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void leasedRead_damagedOnItsWay_isNeverWrongAndGoesOnAfterwards(Kind kind) throws IOException {
        start(null, random.nextInt(3) == 0 ? 2 : 1);
        proxy = new FaultProxy(owner.address());
        awaitSound("first");
        long[] bytes = {proxy.bytes(false), proxy.bytes(true)};
        awaitSound("second");
        bytes[0] = proxy.bytes(false) - bytes[0];
        bytes[1] = proxy.bytes(true) - bytes[1];
        int happened = 0;
        for (int round = 0; more(round, 6, happened); round++) {
            boolean ofOwner = random.nextInt(3) > 0;
            Damage damage = Damage.random(random, kind, ofOwner, bytes[ofOwner ? 1 : 0]);
            String what = damage + ", seed " + seed + ", round " + round;
            long noticed = noticed();
            TransferStatus[] statuses;
            try (RemoteLease lease = lease(proxy.address(), 20_000)) {
                proxy.damage = damage;
                statuses = read(lease, 400);
                proxy.damage = null;
            }
            happened += damage.done() ? 1 : 0;
            if (kind == Kind.FLIP && damage.done() && complete(statuses)) {
                // It cost a request or a helper's connection, and what was asked for was asked for again.
                assertThat(ofOwner).as(what).isFalse();
                TransferContract.await(() -> noticed() > noticed);
            }
            awaitSound(what);
        }
        assertThat(happened).isPositive();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void rawRequests_damagedUnderTls_areNeverWrong(Kind kind) throws IOException {
        start(TestCertificates.get().good, 1);
        proxy = new FaultProxy(owner.address());
        PeerAddress peer = proxy.address();
        for (int round = 0; round < rounds(6); round++) {
            boolean write = round % 2 == 0;
            boolean ofOwner = random.nextInt(4) == 0 == write;
            Damage damage = Damage.random(random, kind, ofOwner, 100_000);
            String what = (write ? "write, " : "read, ") + damage + ", seed " + seed + ", round " + round;
            long until = System.nanoTime() + 60_000_000_000L;
            while (raw(peer, write, 3000, what) != TransferStatus.COMPLETED) {
                assertThat(System.nanoTime()).as(what).isLessThan(until);
            }
            proxy.damage = damage;
            raw(peer, write, 400, what);
            proxy.damage = null;
        }
    }

    /** 100,000 bytes; where the call says that all is well, they are right. */
    private TransferStatus raw(PeerAddress peer, boolean write, int millis, String what) {
        int name = random.nextInt(1000);
        int size = 100_000;
        (write ? readerMemory : ownerMemory).fill(name, 0, size);
        (write ? ownerMemory : readerMemory).fill(OTHER, 0, SIZE);
        RemoteHandle[] handles = {
            owner.issueHandle(
                    reader.incarnation(), region, ownerMemory.generation.get(), 0, size, write, Duration.ofSeconds(20))
        };
        long[] addresses = {readerMemory.address};
        long before = System.nanoTime();
        TransferStatus status = write
                ? reader.batchTransferSyncWrite(peer, addresses, handles, new long[] {size}, Deadline.ofMillis(millis))[
                        0]
                : reader.batchTransferSyncRead(peer, addresses, handles, new long[] {size}, Deadline.ofMillis(millis))[
                        0];
        assertThat(System.nanoTime() - before).as(what).isLessThan(millis * 1_000_000L + GRACE_NANOS);
        if (status == TransferStatus.COMPLETED) {
            assertThat((write ? ownerMemory : readerMemory).holds(name, 0, size))
                    .as(what)
                    .isTrue();
        } else if (write) {
            // Its bytes may still be on their way, and the memory is wanted.
            ownerMemory.generation.incrementAndGet();
            owner.revoke(region, 0, SIZE);
        }
        return status;
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void lease_damagedOnItsWay_isNoneOrTheRightOneAndGoesOnAfterwards(Kind kind) throws IOException {
        start(null, 1);
        proxy = new FaultProxy(owner.address(), FaultProxy.Port.CONTROL);
        awaitLease("first");
        long[] bytes = {proxy.bytes(false), proxy.bytes(true)};
        awaitLease("second");
        bytes[0] = proxy.bytes(false) - bytes[0];
        bytes[1] = proxy.bytes(true) - bytes[1];
        int happened = 0;
        for (int round = 0; more(round, 4, happened); round++) {
            boolean ofOwner = random.nextBoolean();
            Damage damage = Damage.random(random, kind, ofOwner, bytes[ofOwner ? 1 : 0]);
            String what = damage + ", seed " + seed + ", round " + round;
            proxy.damage = damage;
            tryLease(250, what);
            proxy.damage = null;
            happened += damage.done() ? 1 : 0;
            awaitLease(what);
        }
        assertThat(happened).isPositive();
        TransferContract.await(() -> leases.pinned.get() == 0);
    }

    private void awaitLease(String after) {
        long until = System.nanoTime() + 60_000_000_000L;
        while (!tryLease(1500, after)) {
            assertThat(System.nanoTime()).as(after).isLessThan(until);
        }
    }

    /** Whether there was a lease; then it was one of what was asked for. */
    private boolean tryLease(int millis, String what) {
        long before = System.nanoTime();
        try (RemoteLease lease = lease(proxy.address(), millis)) {
            for (int i = 0; i < BLOCKS; i++) {
                RemoteLease.Element element = lease.element(i);
                assertThat(element).as(what).isNotNull();
                assertThat(element.handle().offset()).as(what).isEqualTo((long) i * STEP);
                assertThat(element.handle().length()).as(what).isEqualTo(length(i));
                assertThat(element.checksums())
                        .as(what)
                        .isEqualTo(ownerMemory.checksums(i * STEP, length(i), element.segmentLength()));
            }
            boolean complete = complete(read(lease, 20_000));
            // A busy machine may take longer than the term.
            assertThat(complete || lease.expired()).as(what).isTrue();
            return complete;
        } catch (MooncakeException e) {
            assertThat(e.code())
                    .as(what)
                    .isIn(
                            MooncakeException.Code.DEADLINE_EXCEEDED,
                            MooncakeException.Code.PEER_UNREACHABLE,
                            MooncakeException.Code.PEER_REFUSED,
                            MooncakeException.Code.STALE,
                            MooncakeException.Code.EXHAUSTED,
                            MooncakeException.Code.CORRUPT);
            return false;
        } finally {
            assertThat(System.nanoTime() - before).as(what).isLessThan(millis * 1_000_000L + 2 * GRACE_NANOS);
        }
    }

    /** Of what the owner says; events may be lost. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void events_damagedOnTheirWay_areNeverWrongAndGoOnAfterwards(Kind kind) throws Exception {
        start(null, 1);
        proxy = new FaultProxy(owner.address(), FaultProxy.Port.EVENT);
        AtomicInteger heard = new AtomicInteger();
        AtomicInteger wrong = new AtomicInteger();
        try (ControlPlane.Subscription subscription = reader.control()
                .subscribe(proxy.address(), "numbers", payload -> {
                    boolean right = payload.length == 400;
                    for (int i = 1; i < payload.length; i++) {
                        right &= payload[i] == (byte) (payload[0] + i);
                    }
                    (right ? heard : wrong).incrementAndGet();
                })) {
            for (int round = 0; round < rounds(5); round++) {
                Damage damage = Damage.random(random, kind, true, 3000);
                String what = damage + ", seed " + seed + ", round " + round;
                awaitEvent(heard, what);
                proxy.damage = damage;
                for (int i = 0; i < 20; i++) {
                    publish(i);
                    LockSupport.parkNanos(1_000_000);
                }
                proxy.damage = null;
                awaitEvent(heard, what);
                assertThat(wrong).as(what).hasValue(0);
            }
        }
    }

    private void publish(int number) {
        byte[] payload = new byte[400];
        for (int i = 0; i < payload.length; i++) {
            payload[i] = (byte) (number + i);
        }
        owner.control().publish("numbers", payload);
    }

    private void awaitEvent(AtomicInteger heard, String what) {
        int before = heard.get();
        long until = System.nanoTime() + 60_000_000_000L;
        for (int i = 0; heard.get() == before; i++) {
            assertThat(System.nanoTime()).as(what).isLessThan(until);
            publish(i);
            LockSupport.parkNanos(1_000_000);
        }
    }
}
