// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.PublishedGuard;
import io.mooncake.transfer.RegionGuard;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory and the number of transfers that may touch it now. {@code users} counts them; the top bit means that the registration
 * has ended, after which nobody can become a user. Ended and zero is terminal: only then may the memory go.
 */
public final class Region {
    /** No preference among rails. */
    public static final int ANY_RAIL = -1;

    private static final int ENDED = 1 << 31;
    private static final long QUIET_POLL_NANOS = 200_000;

    private final int id;
    private final long address;
    private final long length;
    private final RegionGuard guard;
    private final @Nullable DeviceMemory device;
    private final AtomicInteger users = new AtomicInteger();
    private volatile int tcpRails = ANY_RAIL;
    private volatile int rdmaRails = ANY_RAIL;

    Region(int id, long address, long length, RegionGuard guard, @Nullable DeviceMemory device) {
        this.id = id;
        this.address = address;
        this.length = length;
        this.guard = guard;
        this.device = device;
    }

    /** Buffers of the engine itself, which no peer can name: a region without an id, for the devices of own transfers. */
    public static Region ofBuffers(long address, long length) {
        return new Region(0, address, length, (offset, bytes, generation) -> false, null);
    }

    public int id() {
        return id;
    }

    /** Where it begins; for the device's driver alone where it is memory of a {@link #device}. */
    public long address() {
        return address;
    }

    /** What moves the bytes of memory that no CPU reaches; null for memory of the host. */
    public @Nullable DeviceMemory device() {
        return device;
    }

    public long length() {
        return length;
    }

    /** Says which rails are near the memory: a bit for each address of this engine, and for each RDMA device. Before it is used. */
    public void prefer(int tcp, int rdma) {
        tcpRails = tcp;
        rdmaRails = rdma;
    }

    /** Bits of the addresses of this engine that are near. */
    public int tcpRails() {
        return tcpRails;
    }

    /** Bits of the RDMA devices that are near. */
    public int rdmaRails() {
        return rdmaRails;
    }

    /** Whether the owner says that the range still is of {@code generation}. */
    public boolean current(long offset, long bytes, long generation) {
        return guard.current(offset, bytes, generation);
    }

    /** Where the range's generation is published, see {@link PublishedGuard}; NOWHERE where it isn't. */
    public long generationOffset(long offset, long bytes) {
        return guard instanceof PublishedGuard published
                ? published.generationOffset(offset, bytes)
                : PublishedGuard.NOWHERE;
    }

    /** Whether {@code bytes} at {@code at} lie inside. */
    boolean containsAddress(long at, long bytes) {
        return at >= address && bytes <= length && at - address <= length - bytes;
    }

    /** Whether the range lies inside; safe against wrap-around. */
    public boolean containsRange(long offset, long bytes) {
        return offset >= 0 && bytes >= 1 && bytes <= length && offset <= length - bytes;
    }

    /** Becomes a user, or false when the registration has ended. Each success owes a {@link #release}. */
    public boolean acquire() {
        while (true) {
            int now = users.get();
            if (now < 0) {
                return false;
            }
            if (users.compareAndSet(now, now + 1)) {
                return true;
            }
        }
    }

    /** Ends one use. */
    public void release() {
        users.decrementAndGet();
    }

    /** Transfers that may touch it now. */
    public int users() {
        return users.get() & ~ENDED;
    }

    /** Ends the registration; no new users. */
    void end() {
        users.accumulateAndGet(ENDED, (now, bit) -> now | bit);
    }

    /** Waits until nobody uses it, at most {@code nanos}; whether it is quiet. */
    boolean awaitQuiet(long nanos) {
        long until = System.nanoTime() + nanos;
        while ((users.get() & ~ENDED) != 0) {
            if (System.nanoTime() - until >= 0) {
                return false;
            }
            LockSupport.parkNanos(QUIET_POLL_NANOS);
        }
        return true;
    }
}
