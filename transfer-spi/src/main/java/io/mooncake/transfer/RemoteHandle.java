// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;

/**
 * Names a range of a peer's registered memory, never by raw address. The peer that issued it checks all of it on every access: region,
 * generation, range, rights, expiry by its own clock, and the capability's MAC.
 *
 * @param region the issuer's region id
 * @param generation generation of the range when the handle was issued; another one there makes the handle stale
 * @param offset bytes from the start of the region
 * @param length bytes, at least 1
 * @param writable whether the holder may write
 * @param expiresAtNanos expiry on the issuer's monotonic clock, meaningless elsewhere
 * @param capability MAC over all of this and the holder's incarnation, under a key that only this life of the issuer has; tenants are separated
 *     above the engine
 */
public record RemoteHandle(
        int region,
        long generation,
        long offset,
        long length,
        boolean writable,
        long expiresAtNanos,
        byte[] capability) {
    public RemoteHandle {
        if (offset < 0 || length < 1 || offset + length < 0) {
            throw MooncakeException.invalid("range", offset + "+" + length, "inside the region, length at least 1");
        }
    }
}
