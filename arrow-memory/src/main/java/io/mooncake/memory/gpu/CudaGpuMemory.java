// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.gpu;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.Cuda;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaMemory;
import io.mooncake.natives.CudaStream;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.apache.arrow.memory.util.MemoryUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory of a GPU by the CUDA driver. It has run on a stand-in for the driver alone, never on hardware.
 *
 * <p>Copies from and to locked memory of the host are the driver's own and asynchronous. Other memory passes through two locked buffers of
 * {@value #STAGE_BYTES} bytes a stream, each with a stream of the driver: while one is on the bus, the CPU fills or empties the other.
 */
public final class CudaGpuMemory implements GpuMemory {
    static final int STAGE_BYTES = 1 << 20;

    private static final Logger LOG = LoggerFactory.getLogger(CudaGpuMemory.class);

    private final CudaDevice device;
    private final Map<Long, CudaMemory> allocations = new HashMap<>();
    /** Locked ranges by their start. Guarded by this. */
    private final NavigableMap<Long, Long> pinned = new TreeMap<>();

    private CudaGpuMemory(CudaDevice device) {
        this.device = device;
    }

    /**
     * Opens a GPU.
     *
     * @throws MooncakeException CONFIGURATION when CUDA cannot be used, with the reason; INVALID_ARGUMENT for an ordinal that is none
     */
    public static CudaGpuMemory open(int ordinal) {
        return new CudaGpuMemory(Cuda.open(ordinal));
    }

    @Override
    public String name() {
        return "GPU " + device.gpu().ordinal() + ", " + device.gpu().name();
    }

    @Override
    public long totalBytes() {
        return device.gpu().totalBytes();
    }

    @Override
    public synchronized long allocate(long bytes) {
        CudaMemory memory = device.allocate(bytes);
        allocations.put(memory.address(), memory);
        return memory.address();
    }

    @Override
    public synchronized void free(long address) {
        CudaMemory memory = allocations.remove(address);
        if (memory == null) {
            throw MooncakeException.invalid("device address", address, "one that was allocated");
        }
        memory.close();
    }

    @Override
    public synchronized boolean pin(long hostAddress, long bytes) {
        try {
            device.pin(hostAddress, bytes);
        } catch (MooncakeException e) {
            LOG.warn("{}: host memory is not locked, so copies are staged: {}", name(), e.getMessage());
            return false;
        }
        pinned.put(hostAddress, bytes);
        return true;
    }

    @Override
    public synchronized void unpin(long hostAddress) {
        if (pinned.remove(hostAddress) != null) {
            device.unpin(hostAddress);
        }
    }

    private synchronized boolean isPinned(long hostAddress, long bytes) {
        Map.Entry<Long, Long> range = pinned.floorEntry(hostAddress);
        return range != null && bytes <= range.getKey() + range.getValue() - hostAddress;
    }

    @Override
    public Stream openStream() {
        CudaStream first = device.createStream();
        try {
            return new StagingStream(first, device.createStream());
        } catch (MooncakeException e) {
            first.close();
            throw e;
        }
    }

    @Override
    public synchronized void close() {
        pinned.keySet().forEach(device::unpin);
        pinned.clear();
        allocations.values().forEach(CudaMemory::close);
        allocations.clear();
        device.close();
    }

    private final class StagingStream implements Stream {
        private final CudaStream[] streams;
        private final CudaMemory[] stages = new CudaMemory[2];
        private final long[] copy = new long[CudaStream.COPY_LONGS];

        StagingStream(CudaStream first, CudaStream second) {
            streams = new CudaStream[] {first, second};
        }

        @Override
        public void toDevice(long hostAddress, long deviceAddress, long bytes) {
            if (isPinned(hostAddress, bytes)) {
                start(0, true, deviceAddress, hostAddress, bytes);
                return;
            }
            prepareStages();
            int stage = 0;
            for (long done = 0; done < bytes; done += STAGE_BYTES, stage ^= 1) {
                long length = Math.min(STAGE_BYTES, bytes - done);
                streams[stage].synchronize();
                MemoryUtil.copyMemory(hostAddress + done, stages[stage].address(), length);
                start(stage, true, deviceAddress + done, stages[stage].address(), length);
            }
            synchronize();
        }

        @Override
        public void toHost(long deviceAddress, long hostAddress, long bytes) {
            if (isPinned(hostAddress, bytes)) {
                start(0, false, deviceAddress, hostAddress, bytes);
                return;
            }
            prepareStages();
            // One piece ahead of the CPU.
            long started = 0;
            for (long done = 0; done < bytes; done += STAGE_BYTES) {
                while (started < bytes && started < done + 2L * STAGE_BYTES) {
                    int stage = (int) (started / STAGE_BYTES) & 1;
                    long length = Math.min(STAGE_BYTES, bytes - started);
                    start(stage, false, deviceAddress + started, stages[stage].address(), length);
                    started += length;
                }
                int stage = (int) (done / STAGE_BYTES) & 1;
                streams[stage].synchronize();
                MemoryUtil.copyMemory(stages[stage].address(), hostAddress + done, Math.min(STAGE_BYTES, bytes - done));
            }
        }

        private void start(int stream, boolean toDevice, long deviceAddress, long hostAddress, long bytes) {
            CudaStream.describe(copy, 0, toDevice, deviceAddress, hostAddress, bytes);
            streams[stream].start(copy, 1);
        }

        /** What was started before comes first, on whichever of the two streams it is. */
        private void prepareStages() {
            synchronize();
            for (int i = 0; i < stages.length; i++) {
                if (stages[i] == null) {
                    stages[i] = device.allocatePinned(STAGE_BYTES);
                }
            }
        }

        @Override
        public void synchronize() {
            try {
                streams[0].synchronize();
            } finally {
                // Also when the first has failed: its error says nothing of what the other still does.
                streams[1].synchronize();
            }
        }

        @Override
        public void close() {
            try {
                streams[0].close();
            } finally {
                try {
                    streams[1].close();
                } finally {
                    closeStages();
                }
            }
        }

        private void closeStages() {
            for (CudaMemory stage : stages) {
                if (stage != null) {
                    stage.close();
                }
            }
        }
    }
}
