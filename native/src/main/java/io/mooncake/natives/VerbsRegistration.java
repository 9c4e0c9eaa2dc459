// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

/**
 * Memory that a device may reach. Closing revokes both keys in the device: what peers post with the remote key afterwards fails and breaks
 * their queue pair.
 *
 * <p>Ownership: the memory is the caller's and stays mapped until {@link #close} has returned. Threading: any.
 */
public final class VerbsRegistration implements AutoCloseable {
    private final VerbsDevice device;
    private final int localKey;
    private final int remoteKey;
    private long handle;

    VerbsRegistration(VerbsDevice device, long handle, int localKey, int remoteKey) {
        this.device = device;
        this.handle = handle;
        this.localKey = localKey;
        this.remoteKey = remoteKey;
    }

    /** For own requests. */
    public int localKey() {
        return localKey;
    }

    /** For the peer's requests; a secret between the two. */
    public int remoteKey() {
        return remoteKey;
    }

    @Override
    public synchronized void close() {
        if (handle != 0) {
            long closing = handle;
            handle = 0;
            // A registration that the driver keeps keeps its device open.
            Verbs.require("deregister", VerbsCalls.deregister(closing));
            device.leave();
        }
    }
}
