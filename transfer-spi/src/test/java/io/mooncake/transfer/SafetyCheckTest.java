// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.internal.SafetyChecks;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What each safety check is for: the same damage is done with the check on, and no wrong byte is called good; and with it off, and wrong
 * bytes are. Where another check would catch the damage as well, that one is off in both runs.
 */
class SafetyCheckTest {
    private static final int SIZE = 1 << 20;
    private static final int RIGHT = 1;
    private static final int WRONG = 2;

    private final Memory ownerMemory = new Memory(SIZE);
    private final Memory readerMemory = new Memory(SIZE);
    private TransferEngine owner;
    private TransferEngine reader;
    private int region;

    TransferEngine engine(TransferEngineConfig config, SafetyChecks checks) {
        return EngineFactory.start(config, checks);
    }

    private void start(SafetyChecks checks) {
        owner = engine(config(), checks);
        reader = engine(config(), checks);
        region = owner.registerMemory(ownerMemory.address, SIZE, ownerMemory.guard());
        reader.registerMemory(readerMemory.address, SIZE, readerMemory.guard());
        ownerMemory.fill(RIGHT, 0, SIZE);
    }

    TransferEngineConfig config() {
        return TransferEngineConfig.of("127.0.0.1", TransferContract.SECRET);
    }

    @AfterEach
    void stop() {
        reader.close();
        owner.close();
        ownerMemory.close();
        readerMemory.close();
    }

    private TransferStatus raw(PeerAddress peer, RemoteHandle handle) {
        return reader.batchTransferSyncRead(
                        peer,
                        new long[] {readerMemory.address},
                        new RemoteHandle[] {handle},
                        new long[] {SIZE},
                        soon())[0];
    }

    private void assertServedWrongOnlyWithout(boolean check, TransferStatus status, TransferStatus withCheck) {
        if (check) {
            assertThat(status).isEqualTo(withCheck);
        } else {
            assertThat(status).isEqualTo(TransferStatus.COMPLETED);
            assertThat(readerMemory.holds(WRONG, 0, SIZE)).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void generationCheck_memoryRecycled(boolean check) {
        start(new SafetyChecks(check, true, true, true, true));
        RemoteHandle handle =
                owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, false, Duration.ofSeconds(60));
        ownerMemory.generation.incrementAndGet();
        ownerMemory.fill(WRONG, 0, SIZE);
        assertServedWrongOnlyWithout(check, raw(owner.address(), handle), TransferStatus.STALE_GENERATION);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void checksum_memoryDamagedAfterSealing(boolean check) {
        start(new SafetyChecks(true, check, true, true, true));
        TestLeases leases = new TestLeases(ownerMemory, region);
        leases.put(RIGHT, 0, SIZE, SIZE / 4);
        owner.serveLeases(leases);
        ownerMemory.fill(WRONG, 0, SIZE);
        assertServedWrongOnlyWithout(check, leasedRead(0), TransferStatus.CHECKSUM);
    }

    private TransferStatus leasedRead(long pauseMillis) {
        try (RemoteLease lease = reader.lease(
                owner.address(),
                "pool",
                List.of(TestLeases.key(RIGHT)),
                pauseMillis > 0 ? Duration.ofMillis(200) : Duration.ofSeconds(9),
                soon())) {
            pause(pauseMillis);
            if (pauseMillis > 0) {
                ownerMemory.fill(WRONG, 0, SIZE);
            }
            return reader.read(lease, List.of(new TransferEngine.ReadRequest(0, readerMemory.address)), soon())[0];
        }
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void leaseExpiry_memoryReusedAfterTheTermByOneWhoKeepsGenerations(boolean check) {
        start(new SafetyChecks(false, false, check, true, true));
        TestLeases leases = new TestLeases(ownerMemory, region);
        leases.put(RIGHT, 0, SIZE, SIZE);
        owner.serveLeases(leases);
        assertServedWrongOnlyWithout(check, leasedRead(600), TransferStatus.LEASE_EXPIRED);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void incarnationCheck_ownerRestartedOnItsPorts(boolean check) {
        SafetyChecks checks = new SafetyChecks(true, true, true, check, false);
        start(checks);
        RemoteHandle old = owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, false, Duration.ofSeconds(60));
        PeerAddress address = owner.address();
        owner.close();
        for (int attempt = 1; !restarted(address, checks); attempt++) {
            // A connection of somebody else's got one of its ports meanwhile: another owner, on other ports.
            assertThat(attempt).isLessThan(20);
            owner.close();
            reader.close();
            start(checks);
            old = owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, false, Duration.ofSeconds(60));
            address = owner.address();
            owner.close();
        }
        assertThat(owner.address().dataPort()).isEqualTo(address.dataPort());
        owner.registerMemory(ownerMemory.address, SIZE, ownerMemory.guard());
        ownerMemory.fill(WRONG, 0, SIZE);
        assertServedWrongOnlyWithout(check, raw(address, old), TransferStatus.STALE_INCARNATION);
    }

    private boolean restarted(PeerAddress address, SafetyChecks checks) {
        int last = Math.max(address.dataPort() + 2, address.eventPort());
        try {
            owner = engine(
                    TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                            .ports(address.dataPort(), last)
                            .build(),
                    checks);
            return owner.address().dataPort() == address.dataPort();
        } catch (MooncakeException e) {
            return false;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void capabilityCheck_rangeOfSomebodyElse(boolean check) {
        start(new SafetyChecks(true, true, true, true, check));
        ownerMemory.fill(WRONG, 0, SIZE);
        RemoteHandle forged =
                new RemoteHandle(region, 1, 0, SIZE, false, System.nanoTime() + 60_000_000_000L, new byte[32]);
        assertServedWrongOnlyWithout(check, raw(owner.address(), forged), TransferStatus.REFUSED);
    }

    @Test
    void incarnationCheck_off_capabilityStillRefuses() {
        start(new SafetyChecks(true, true, true, false, true));
        RemoteHandle foreign =
                new RemoteHandle(region, 1, 0, SIZE, false, System.nanoTime() + 60_000_000_000L, new byte[32]);
        assertThat(raw(owner.address(), foreign)).isEqualTo(TransferStatus.REFUSED);
    }
}
