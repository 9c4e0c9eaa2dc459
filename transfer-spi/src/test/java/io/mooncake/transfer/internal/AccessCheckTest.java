// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import java.security.SecureRandom;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

final class AccessCheckTest {
    private static final long SIZE = 10_000;
    private static final UUID PEER = UUID.randomUUID();

    private final Capabilities capabilities = new Capabilities(new SecureRandom());
    private final Capabilities.Verifier verifier = capabilities.verifier();
    private final AccessCheck check = new AccessCheck(SafetyChecks.ALL);
    private long generation = 7;
    private final Region region =
            new RegionRegistry().register(1 << 20, SIZE, (offset, length, asked) -> asked == generation);

    private RemoteHandle handle(boolean writable, long expiresAtNanos) {
        return capabilities.issue(PEER, region.id(), 7, 1000, 2000, writable, expiresAtNanos);
    }

    private static long soon() {
        return System.nanoTime() + 60_000_000_000L;
    }

    private Claim good() {
        return new Claim().of(handle(true, soon()), true, 100, 1900);
    }

    private RefusalCause before(Claim claim) {
        return check.before(verifier, PEER, region, claim);
    }

    private RefusalCause changed(Consumer<Claim> change) {
        Claim claim = good();
        change.accept(claim);
        return before(claim);
    }

    @Test
    void before_whatWasIssued_isGranted() {
        assertThat(before(good())).isNull();
        assertThat(check.after(region, good())).isNull();
        assertThat(good().start()).isEqualTo(1100);
        assertThat(AccessCheck.status(null)).isEqualTo(TransferStatus.COMPLETED);
    }

    @Test
    void before_outsideOfHandleOrRegion_isRange() {
        assertThat(changed(claim -> claim.offset = -1)).isEqualTo(RefusalCause.RANGE);
        assertThat(changed(claim -> claim.offset = 101)).isEqualTo(RefusalCause.RANGE);
        assertThat(changed(claim -> claim.offset = Long.MAX_VALUE)).isEqualTo(RefusalCause.RANGE);
        for (long length : new long[] {0, -1, 1901, 2001, Long.MAX_VALUE, Long.MIN_VALUE}) {
            assertThat(changed(claim -> claim.length = length)).as("%d", length).isEqualTo(RefusalCause.RANGE);
        }
        for (long handle : new long[] {0, -1, SIZE, Long.MAX_VALUE, Long.MIN_VALUE}) {
            assertThat(changed(claim -> claim.handleLength = handle))
                    .as("%d", handle)
                    .isEqualTo(RefusalCause.RANGE);
        }
        for (long offset : new long[] {-1, SIZE - 1999, Long.MAX_VALUE, Long.MIN_VALUE}) {
            assertThat(changed(claim -> claim.handleOffset = offset))
                    .as("%d", offset)
                    .isEqualTo(RefusalCause.RANGE);
        }
    }

    @Test
    void before_writeUnderAHandleThatReads_isRights() {
        assertThat(before(new Claim().of(handle(false, soon()), true, 0, 1))).isEqualTo(RefusalCause.RIGHTS);
        assertThat(before(new Claim().of(handle(false, soon()), false, 0, 1))).isNull();
    }

    @Test
    void before_anyFieldUnlikeWhatWasIssued_isForged() {
        assertThat(changed(claim -> claim.region++)).isEqualTo(RefusalCause.FORGED);
        assertThat(changed(claim -> claim.generation++)).isEqualTo(RefusalCause.FORGED);
        assertThat(changed(claim -> claim.handleOffset++)).isEqualTo(RefusalCause.FORGED);
        assertThat(changed(claim -> claim.handleLength++)).isEqualTo(RefusalCause.FORGED);
        assertThat(changed(claim -> claim.expiresAtNanos++)).isEqualTo(RefusalCause.FORGED);
        assertThat(changed(claim -> claim.capability = new byte[0])).isEqualTo(RefusalCause.FORGED);
        for (int bit = 0; bit < Capabilities.BYTES * 8; bit++) {
            Claim claim = good();
            claim.capability[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(before(claim)).as("bit %d", bit).isEqualTo(RefusalCause.FORGED);
        }
        Claim reading = new Claim().of(handle(false, soon()), true, 0, 1);
        reading.writable = true;
        assertThat(before(reading)).isEqualTo(RefusalCause.FORGED);
        assertThat(check.before(verifier, UUID.randomUUID(), region, good())).isEqualTo(RefusalCause.FORGED);
        assertThat(check.before(new Capabilities(new SecureRandom()).verifier(), PEER, region, good()))
                .isEqualTo(RefusalCause.FORGED);
    }

    @Test
    void beforeAndAfter_termOver_isExpired() {
        Claim claim = new Claim().of(handle(true, System.nanoTime()), true, 0, 1);
        assertThat(before(claim)).isEqualTo(RefusalCause.EXPIRED);
        assertThat(check.after(region, claim)).isEqualTo(RefusalCause.EXPIRED);
    }

    @Test
    void beforeAndAfter_otherGeneration_isStale() {
        Claim claim = good();
        generation = 8;
        assertThat(before(claim)).isEqualTo(RefusalCause.STALE);
        assertThat(check.after(region, claim)).isEqualTo(RefusalCause.STALE);
    }

    @Test
    void before_checksOff_eachLetsItsOwnCauseThrough() {
        AccessCheck noCapability = new AccessCheck(new SafetyChecks(true, true, true, true, false));
        AccessCheck noExpiry = new AccessCheck(new SafetyChecks(true, true, false, true, true));
        AccessCheck noGeneration = new AccessCheck(new SafetyChecks(false, true, true, true, true));
        Claim forged = good();
        forged.capability[0] ^= 1;
        Claim expired = new Claim().of(handle(true, System.nanoTime()), true, 0, 1);
        assertThat(noCapability.before(verifier, PEER, region, forged)).isNull();
        assertThat(noExpiry.before(verifier, PEER, region, expired)).isNull();
        generation = 8;
        assertThat(noGeneration.before(verifier, PEER, region, good())).isNull();
        assertThat(noGeneration.before(verifier, PEER, region, forged)).isEqualTo(RefusalCause.FORGED);
    }

    @Test
    void status_everyCause_hasOne() {
        for (RefusalCause cause : RefusalCause.values()) {
            TransferStatus expected =
                    switch (cause) {
                        case EXPIRED -> TransferStatus.LEASE_EXPIRED;
                        case STALE -> TransferStatus.STALE_GENERATION;
                        case DEVICE -> TransferStatus.DEVICE_FAILED;
                        default -> TransferStatus.REFUSED;
                    };
            assertThat(AccessCheck.status(cause)).isEqualTo(expected);
        }
    }
}
