// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;

/**
 * A reliable connected queue pair and its completion queue. Life: {@link #toInit}, {@link #toReadyToReceive} with the peer's data,
 * {@link #toReadyToSend}; after an error it only flushes, and a new one takes its place.
 *
 * <p>Posting and polling are data plane: many requests a call, no allocation. Threading: one thread at a time; {@link #close} waits for
 * it. When {@link #close} has returned, the device has left all memory that was posted.
 */
public final class VerbsQueuePair implements AutoCloseable {
    /** Most requests or completions of one call. */
    public static final int MAX_BATCH = 64;

    /** Longs of a request in {@link #post}; verbs.c has the same number. */
    public static final int POST_LONGS = 6;

    /** Longs of a completion in {@link #poll}; verbs.c has the same number. */
    public static final int COMPLETION_LONGS = 3;

    private final VerbsDevice device;
    private final int number;
    private long handle;

    VerbsQueuePair(VerbsDevice device, long handle, int number) {
        this.device = device;
        this.handle = handle;
        this.number = number;
    }

    /** The number that the peer addresses. */
    public int number() {
        return number;
    }

    /** RESET to INIT: {@code access} is what the peer may do, REMOTE_WRITE and REMOTE_READ of {@link VerbsDevice}. */
    public synchronized void toInit(int port, int access) {
        Verbs.require("queue pair to INIT", VerbsCalls.toInit(handle(), port, access));
    }

    /**
     * Where a peer's queue pair is.
     *
     * @param gid 16 bytes
     * @param lid on InfiniBand, else 0
     * @param number of the queue pair
     * @param sequence its first packet's number, 24 bits
     */
    public record Peer(byte[] gid, int lid, int number, int sequence) {}

    /**
     * INIT to RTR: answers the peer from now on.
     *
     * @param gidIndex own entry in the table of {@code port}; -1: addressed by lid alone
     * @param mtu code of the packet size, at most both ports'
     * @param readDepth reads of the peer outstanding at most
     */
    public synchronized void toReadyToReceive(int port, int gidIndex, Peer peer, int mtu, int readDepth) {
        if (peer.gid().length != 16) {
            throw MooncakeException.invalid("gid", peer.gid().length + " bytes", "16");
        }
        Verbs.require(
                "queue pair to RTR",
                VerbsCalls.toReadyToReceive(
                        handle(),
                        port,
                        gidIndex,
                        peer.gid(),
                        peer.lid(),
                        peer.number(),
                        peer.sequence(),
                        mtu,
                        readDepth));
    }

    /**
     * RTR to RTS: may post from now on.
     *
     * @param sequence own first packet's number, 24 bits
     * @param timeout code of the time to wait for an answer, 4.096 us times 2 to this power
     * @param retries 0..7
     * @param readDepth own reads outstanding at most
     */
    public synchronized void toReadyToSend(int sequence, int timeout, int retries, int readDepth) {
        Verbs.require("queue pair to RTS", VerbsCalls.toReadyToSend(handle(), sequence, timeout, retries, readDepth));
    }

    /** To ERR: everything outstanding is flushed, the peer's requests fail. */
    public synchronized void toError() {
        Verbs.require("queue pair to ERR", VerbsCalls.toError(handle()));
    }

    /** Writes a request into {@code descriptors}, for {@link #post}; {@code length} up to 2 GiB - 1. */
    public static void describe(
            long[] descriptors,
            int index,
            long id,
            boolean write,
            long localAddress,
            int length,
            int localKey,
            long remoteAddress,
            int remoteKey) {
        int at = index * POST_LONGS;
        descriptors[at] = id;
        descriptors[at + 1] = write ? 1 : 0;
        descriptors[at + 2] = localAddress;
        descriptors[at + 3] = length;
        descriptors[at + 4] = remoteAddress;
        descriptors[at + 5] = (long) localKey << 32 | (remoteKey & 0xffffffffL);
    }

    /**
     * Posts the first {@code count} requests of {@code descriptors}; each will complete once.
     *
     * @return how many were posted; fewer when the queue is full
     * @throws VerbsException when none was posted for another reason
     */
    public synchronized int post(long[] descriptors, int count) {
        if (count < 1 || count > MAX_BATCH || descriptors.length < count * POST_LONGS) {
            throw MooncakeException.invalid("count", count, "1.." + MAX_BATCH + ", all of them described");
        }
        int posted = VerbsCalls.post(handle(), descriptors, count);
        if (posted == -12) {
            return 0;
        }
        if (posted < 0) {
            throw new VerbsException("post", -posted);
        }
        return posted;
    }

    /**
     * Takes completions, {@link #COMPLETION_LONGS} longs each: the request's id, the code of {@link CompletionStatus}, the vendor's code.
     *
     * @return how many were taken; 0 when there are none now
     */
    public synchronized int poll(long[] completions) {
        int most = Math.min(MAX_BATCH, completions.length / COMPLETION_LONGS);
        int taken = VerbsCalls.poll(handle(), completions, most);
        if (taken < 0) {
            throw new VerbsException("poll", -taken);
        }
        return taken;
    }

    private long handle() {
        if (handle == 0) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "queue pair " + number + ": closed");
        }
        return handle;
    }

    @Override
    public synchronized void close() {
        if (handle != 0) {
            long closing = handle;
            handle = 0;
            // A queue pair that the driver keeps keeps its device open.
            Verbs.require("destroy queue pair", VerbsCalls.destroyQueuePair(closing));
            device.leave();
        }
    }
}
