// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockArena;
import io.mooncake.memory.gpu.GpuMemory;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.NativeMemory;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/** One tier of a {@link MemoryPool}: where its blocks are, and how their bytes get to memory of the host and back. */
abstract class TierSpace implements AutoCloseable {
    /** Of a reference, without compression. */
    private static final int OWNER_BYTES = 8;

    final MemoryTier tier;
    final BlockArena arena;

    /** The buffer that got a slot last; whether the slot is still its own, its place says. */
    final AtomicReferenceArray<@Nullable PoolBuffer> owners;

    TierSpace(MemoryTier tier, BlockArena arena) {
        this.tier = tier;
        this.arena = arena;
        owners = new AtomicReferenceArray<>(arena.slots());
    }

    /** Bytes of the Java heap that the states of its blocks take, at most. */
    final long heapBytes() {
        return arena.heapBytes() + (long) OWNER_BYTES * arena.slots();
    }

    /** Copies {@code bytes} from the tier's {@code address} to the host's; whole pages may be copied. */
    abstract void read(long address, long hostAddress, long bytes);

    /** Copies {@code bytes} from the host's address to the tier's {@code address}; whole pages may be copied. */
    abstract void write(long hostAddress, long address, long bytes);

    @Override
    public abstract void close();

    static final class Dram extends TierSpace {
        private static final boolean BRIDGE = NativeBridge.available();

        private final MemoryRegion region;

        Dram(MemoryRegion region) {
            super(MemoryTier.DRAM, new BlockArena("DRAM", region.address(), region.bytes()));
            this.region = region;
        }

        @Override
        void read(long address, long hostAddress, long bytes) {
            if (BRIDGE) {
                NativeMemory.copy(address, hostAddress, bytes);
            } else {
                MemoryUtil.copyMemory(address, hostAddress, bytes);
            }
        }

        @Override
        void write(long hostAddress, long address, long bytes) {
            read(hostAddress, address, bytes);
        }

        @Override
        public void close() {
            region.close();
        }
    }

    static final class Gpu extends TierSpace {
        private final GpuMemory memory;
        private final long allocation;
        private final Runnable whenClosed;
        private final ConcurrentLinkedDeque<GpuMemory.Stream> idle = new ConcurrentLinkedDeque<>();

        Gpu(GpuMemory memory, long allocation, long bytes, Runnable whenClosed) {
            super(MemoryTier.GPU, new BlockArena("GPU", allocation, bytes));
            this.memory = memory;
            this.allocation = allocation;
            this.whenClosed = whenClosed;
        }

        @Override
        void read(long address, long hostAddress, long bytes) {
            copy(stream -> stream.toHost(address, hostAddress, bytes));
        }

        @Override
        void write(long hostAddress, long address, long bytes) {
            copy(stream -> stream.toDevice(hostAddress, address, bytes));
        }

        private GpuMemory.Stream stream() {
            GpuMemory.Stream stream = idle.poll();
            return stream == null ? memory.openStream() : stream;
        }

        private void copy(Consumer<GpuMemory.Stream> start) {
            GpuMemory.Stream stream = stream();
            try {
                start.accept(stream);
                stream.synchronize();
            } catch (RuntimeException e) {
                giveUp(stream, e);
                throw e;
            }
            idle.push(stream);
        }

        /** A stream that has failed is not used again. What it had started ends first: both ranges are free for others soon. */
        private static void giveUp(GpuMemory.Stream stream, RuntimeException failure) {
            try {
                stream.synchronize();
            } catch (RuntimeException e) {
                failure.addSuppressed(e);
            }
            try {
                stream.close();
            } catch (RuntimeException e) {
                failure.addSuppressed(e);
            }
        }

        @Override
        public void close() {
            idle.forEach(GpuMemory.Stream::close);
            idle.clear();
            memory.free(allocation);
            whenClosed.run();
        }
    }
}
