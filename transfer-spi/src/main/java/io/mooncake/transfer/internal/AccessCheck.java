// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.TransferStatus;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The owner's checks of an access, the same whichever way the bytes go: by TCP, by shared memory, by RDMA, or within this process.
 *
 * <p>The caller has found the region and holds it. It asks {@link #before} ahead of the first byte, and {@link #after} when the last one has
 * moved, and between pieces where it can stop. Allocates nothing. Safe for all threads; verifiers are for one each.
 *
 * @param checks which of them are made
 * @param nanoClock monotonic nanoseconds, by which leases end
 */
public record AccessCheck(SafetyChecks checks, LongSupplier nanoClock) {
    /** By the system's clock. */
    public AccessCheck(SafetyChecks checks) {
        this(checks, System::nanoTime);
    }

    /** Why {@code peer} may not have what it claims, or null when it may. */
    public @Nullable RefusalCause before(Capabilities.Verifier verifier, UUID peer, Region region, Claim claim) {
        boolean inside = region.containsRange(claim.handleOffset, claim.handleLength)
                && claim.offset >= 0
                && claim.length >= 1
                && claim.length <= claim.handleLength
                && claim.offset <= claim.handleLength - claim.length;
        if (!inside) {
            return RefusalCause.RANGE;
        }
        if (claim.write && !claim.writable) {
            return RefusalCause.RIGHTS;
        }
        if (checks.capability() && !verifier.verify(peer, claim)) {
            return RefusalCause.FORGED;
        }
        return after(region, claim);
    }

    /** Why a claim that was found good is good no more, or null. */
    public @Nullable RefusalCause after(Region region, Claim claim) {
        if (checks.leaseExpiry() && nanoClock.getAsLong() - claim.expiresAtNanos >= 0) {
            return RefusalCause.EXPIRED;
        }
        if (checks.generation() && !region.current(claim.start(), claim.length, claim.generation)) {
            return RefusalCause.STALE;
        }
        return null;
    }

    /** What the peer is told. */
    public static TransferStatus status(@Nullable RefusalCause cause) {
        if (cause == null) {
            return TransferStatus.COMPLETED;
        }
        return switch (cause) {
            case EXPIRED -> TransferStatus.LEASE_EXPIRED;
            case STALE -> TransferStatus.STALE_GENERATION;
            case DEVICE -> TransferStatus.DEVICE_FAILED;
            case FORGED, RANGE, REGION, RIGHTS, REPLAY, MALFORMED -> TransferStatus.REFUSED;
        };
    }
}
