// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.gpu;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * A device in memory of the host, for tests and for machines without a GPU. It is as late as a device may be: copies are made when somebody
 * waits for them and not before, so a program that forgets to wait reads old bytes. Addresses it did not hand out are refused.
 */
public final class HostGpuMemory implements GpuMemory {
    private final long totalBytes;
    private final Map<Long, Long> allocations = new HashMap<>();
    private long used;

    /** A device of {@code totalBytes}. */
    public HostGpuMemory(long totalBytes) {
        if (totalBytes < 1) {
            throw MooncakeException.invalid("device bytes", totalBytes, "at least 1");
        }
        this.totalBytes = totalBytes;
    }

    @Override
    public String name() {
        return "a device in memory of the host";
    }

    @Override
    public long totalBytes() {
        return totalBytes;
    }

    @Override
    public synchronized long allocate(long bytes) {
        if (bytes < 1) {
            throw MooncakeException.invalid("bytes", bytes, "at least 1");
        }
        if (bytes > totalBytes - used) {
            throw new MooncakeException(
                    Code.EXHAUSTED, "device bytes: " + bytes + " (expected: at most " + (totalBytes - used) + ")");
        }
        long address = MemoryUtil.allocateMemory(bytes);
        allocations.put(address, bytes);
        used += bytes;
        return address;
    }

    @Override
    public synchronized void free(long address) {
        Long bytes = allocations.remove(address);
        if (bytes == null) {
            throw MooncakeException.invalid("device address", address, "one that was allocated");
        }
        used -= bytes;
        MemoryUtil.freeMemory(address);
    }

    @Override
    public boolean pin(long hostAddress, long bytes) {
        return true;
    }

    @Override
    public void unpin(long hostAddress) {}

    @Override
    public Stream openStream() {
        return new LateStream();
    }

    private synchronized void requireInside(long address, long bytes) {
        boolean inside = allocations.entrySet().stream()
                .anyMatch(one -> address >= one.getKey() && bytes <= one.getKey() + one.getValue() - address);
        if (!inside) {
            throw MooncakeException.invalid("device range", address + "+" + bytes, "inside one that was allocated");
        }
    }

    @Override
    public synchronized void close() {
        allocations.keySet().forEach(MemoryUtil::freeMemory);
        allocations.clear();
        used = 0;
    }

    private final class LateStream implements Stream {
        private final ArrayDeque<long[]> started = new ArrayDeque<>();

        @Override
        public void toDevice(long hostAddress, long deviceAddress, long bytes) {
            requireInside(deviceAddress, bytes);
            started.add(new long[] {hostAddress, deviceAddress, bytes});
        }

        @Override
        public void toHost(long deviceAddress, long hostAddress, long bytes) {
            requireInside(deviceAddress, bytes);
            started.add(new long[] {deviceAddress, hostAddress, bytes});
        }

        @Override
        public void synchronize() {
            for (long[] copy = started.poll(); copy != null; copy = started.poll()) {
                MemoryUtil.copyMemory(copy[0], copy[1], copy[2]);
            }
        }

        @Override
        public void close() {
            started.clear();
        }
    }
}
