// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import org.jspecify.annotations.Nullable;

/**
 * The exports of verbs.c, one method each. Call {@link #unavailable} first; the others only when it says nothing, with handles that these
 * methods returned and that are not closed. Calls that return a handle return 0 on failure and store an errno in {@code error[0]}; those
 * that return an int return an errno, or 0.
 */
final class VerbsCalls {
    private VerbsCalls() {}

    /** Why verbs cannot be used, or null. The library is opened by the first call and stays that one. */
    static native @Nullable String unavailable(String library);

    static native long open(String name, int[] error);

    static native int close(long device);

    static native int limits(long device, long[] out);

    static native int port(long device, int number, int[] out);

    /** {@code out}: {@code count} entries of 16 bytes, zero before; those not in use stay so. */
    static native int gids(long device, int port, int count, byte[] out);

    /** 1 for an event, 0 for none, or a negative errno; {@code out} is type and port or queue pair. */
    static native int nextEvent(long device, int timeoutMillis, int[] out);

    static native int endEvents(long device);

    static native long register(long device, long address, long length, int access, int[] keys, int[] error);

    /** Whether the library knows how to register a dma-buf. */
    static native boolean dmaBuf();

    static native long registerDmaBuf(
            long device, int descriptor, long offset, long length, long iova, int access, int[] keys, int[] error);

    static native int deregister(long region);

    static native long createQueuePair(long device, int depth, int[] number, int[] error);

    static native int destroyQueuePair(long pair);

    static native int toInit(long pair, int port, int access);

    static native int toReadyToReceive(
            long pair,
            int port,
            int gidIndex,
            byte[] peerGid,
            int peerLid,
            int peerNumber,
            int peerSequence,
            int mtu,
            int readDepth);

    static native int toReadyToSend(long pair, int sequence, int timeout, int retries, int readDepth);

    static native int toError(long pair);

    /** Returns how many were posted, or a negative errno. */
    static native int post(long pair, long[] descriptors, int count);

    /** Returns how many completions were taken, or a negative errno. */
    static native int poll(long pair, long[] out, int most);
}
