// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OwnershipTransferResult;
import org.apache.arrow.memory.ReferenceManager;
import org.jspecify.annotations.Nullable;

/** What Arrow buffers over memory of a pool have in common: slices share it, there is no allocator, and ownership stays with the pool. */
abstract class ViewReferences implements ReferenceManager {
    /** Drops references; true when none is left. */
    abstract boolean drop(int count);

    /** Adds references. */
    abstract void add(int count);

    @Override
    public boolean release() {
        return drop(1);
    }

    @Override
    public boolean release(int decrement) {
        return drop(decrement);
    }

    @Override
    public void retain() {
        add(1);
    }

    @Override
    public void retain(int increment) {
        add(increment);
    }

    @Override
    public ArrowBuf retain(ArrowBuf source, @Nullable BufferAllocator target) {
        add(1);
        return source.slice();
    }

    @Override
    public ArrowBuf deriveBuffer(ArrowBuf source, long index, long length) {
        return new ArrowBuf(this, null, length, source.memoryAddress() + index);
    }

    @Override
    public OwnershipTransferResult transferOwnership(ArrowBuf source, @Nullable BufferAllocator target) {
        throw new UnsupportedOperationException("memory of a pool stays with the pool: retain the buffer instead");
    }

    @Override
    public BufferAllocator getAllocator() {
        throw new UnsupportedOperationException("memory of a pool has no Arrow allocator");
    }

    @Override
    public long getAccountedSize() {
        return 0;
    }
}
