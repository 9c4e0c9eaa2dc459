// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.RemoteHandle;

/**
 * An access to this engine's memory as a peer asks for it: what its handle says, and which part of the handle's range it wants. Nothing in it
 * is believed before {@link AccessCheck} has looked at it.
 *
 * <p>Mutable, so that a data plane keeps one for each connection and makes none for each request. One thread at a time.
 */
public final class Claim {
    /** Whether it wants to write. */
    public boolean write;
    /** Bytes from the start of the handle's range. */
    public long offset;
    /** Bytes. */
    public long length;

    // What the handle says, see RemoteHandle.
    public int region;
    public long generation;
    public long handleOffset;
    public long handleLength;
    public boolean writable;
    public long expiresAtNanos;
    public byte[] capability = new byte[Capabilities.BYTES];

    /** Becomes the claim to {@code length} bytes at {@code offset} of what {@code handle} names; the capability is not copied. */
    public Claim of(RemoteHandle handle, boolean write, long offset, long length) {
        this.write = write;
        this.offset = offset;
        this.length = length;
        region = handle.region();
        generation = handle.generation();
        handleOffset = handle.offset();
        handleLength = handle.length();
        writable = handle.writable();
        expiresAtNanos = handle.expiresAtNanos();
        capability = handle.capability();
        return this;
    }

    /** Bytes from the start of the region; wraps around unless {@link AccessCheck} found it inside. */
    public long start() {
        return handleOffset + offset;
    }
}
