// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.arrow.memory.ArrowBuf;

/**
 * The right to read a {@link PoolBuffer} where it was when the lease was taken. Its bytes do not change and its address stays until the lease
 * is closed and every {@link ArrowBuf#retain retained} view of it is too. A view, however small, keeps this one buffer's block and nothing
 * else of the pool.
 *
 * <p>Ownership: the caller owes one {@link #close}. Threading: safe for all threads.
 */
public final class BufferLease implements AutoCloseable {
    static final String KIND = "lease";

    private final PoolBuffer buffer;
    private final PoolBuffer.Place place;
    private final long address;
    private final References references = new References();
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Takes over one reference on the block at {@code place}. */
    BufferLease(PoolBuffer buffer, PoolBuffer.Place place) {
        this.buffer = buffer;
        this.place = place;
        address = place.arena().address(place.token());
        try {
            buffer.pool().handles().open(this, KIND);
        } catch (MooncakeException e) {
            place.arena().release(place.token());
            throw e;
        }
    }

    /** Bytes. */
    public long size() {
        return buffer.size();
    }

    /** The tier that was leased. */
    public MemoryTier tier() {
        return place.space().tier;
    }

    /** Address in memory of {@link #tier()}. */
    public long address() {
        requireOpen();
        return address;
    }

    /** A view of all of it; borrowed: retain it to keep it beyond the lease. DRAM only. */
    public ArrowBuf arrow() {
        return arrow(0, size());
    }

    /** A view of {@code length} bytes from {@code offset}; borrowed: retain it to keep it beyond the lease. DRAM only. */
    public ArrowBuf arrow(long offset, long length) {
        requireOpen();
        if (tier() != MemoryTier.DRAM) {
            throw buffer.refused("tier " + tier(), "DRAM, for a view");
        }
        if (offset < 0 || length < 0 || length > size() - offset) {
            throw MooncakeException.invalid("view", offset + "+" + length, "within 0.." + size());
        }
        return new ArrowBuf(references, null, length, address + offset);
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "lease: closed (expected: open)");
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            references.end();
        }
    }

    /** Counts the lease itself and what was retained; the block is released with the last. */
    private final class References extends ViewReferences {
        private final AtomicInteger count = new AtomicInteger(1);

        @Override
        public int getRefCount() {
            return count.get();
        }

        @Override
        public long getSize() {
            return size();
        }

        @Override
        void add(int more) {
            if (more < 1) {
                throw MooncakeException.invalid("retains", more, "at least 1");
            }
            int now;
            do {
                now = count.get();
                if (now == 0) {
                    throw new MooncakeException(Code.ILLEGAL_STATE, "view: its lease has ended (expected: open)");
                }
            } while (!count.compareAndSet(now, now + more));
        }

        @Override
        boolean drop(int fewer) {
            int now;
            int left;
            do {
                now = count.get();
                left = now - fewer;
                // The lease's own reference is dropped by its close alone.
                if (fewer < 1 || left < (closed.get() ? 0 : 1)) {
                    throw new MooncakeException(
                            Code.ILLEGAL_STATE,
                            "view: released " + fewer + " times (expected: at most " + (now - (closed.get() ? 0 : 1))
                                    + ", as often as it was retained)");
                }
            } while (!count.compareAndSet(now, left));
            if (left == 0) {
                releaseBlock();
            }
            return left == 0;
        }

        void end() {
            if (count.decrementAndGet() == 0) {
                releaseBlock();
            }
        }

        private void releaseBlock() {
            place.arena().release(place.token());
            buffer.pool().handles().close(BufferLease.this);
        }
    }
}
