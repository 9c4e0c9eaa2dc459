// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.TransferStatus;
import org.jspecify.annotations.Nullable;

/** Codes of statuses in frames. They never change; the enum's order is not one. */
public final class StatusCodes {
    private StatusCodes() {}

    public static int code(TransferStatus status) {
        return switch (status) {
            case COMPLETED -> 1;
            case TIMEOUT -> 2;
            case CANCELED -> 3;
            case STALE_GENERATION -> 4;
            case STALE_INCARNATION -> 5;
            case LEASE_EXPIRED -> 6;
            case CHECKSUM -> 7;
            case REFUSED -> 8;
            case PEER_UNREACHABLE -> 9;
            case DEVICE_FAILED -> 10;
        };
    }

    /** The status of that code, or null when there is none. */
    public static @Nullable TransferStatus status(int code) {
        return switch (code) {
            case 1 -> TransferStatus.COMPLETED;
            case 2 -> TransferStatus.TIMEOUT;
            case 3 -> TransferStatus.CANCELED;
            case 4 -> TransferStatus.STALE_GENERATION;
            case 5 -> TransferStatus.STALE_INCARNATION;
            case 6 -> TransferStatus.LEASE_EXPIRED;
            case 7 -> TransferStatus.CHECKSUM;
            case 8 -> TransferStatus.REFUSED;
            case 9 -> TransferStatus.PEER_UNREACHABLE;
            case 10 -> TransferStatus.DEVICE_FAILED;
            default -> null;
        };
    }
}
