// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.Cuda;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaMemory;
import io.mooncake.natives.FakeCuda;
import java.util.function.LongUnaryOperator;

/** Memory of a fake GPU, which no CPU reaches. */
final class GpuTestMemory extends Memory {
    private final int gpu;
    private final CudaDevice device;
    private final CudaMemory memory;

    /** Takes memory of a GPU, which the constructor of the super class asks for. */
    private static final class Allocation implements LongUnaryOperator {
        private final CudaDevice device;
        private CudaMemory made;

        Allocation(CudaDevice device) {
            this.device = device;
        }

        @Override
        public long applyAsLong(long bytes) {
            made = device.allocate(bytes);
            return made.address();
        }
    }

    /** Memory of that GPU, or of the host for a number below 0. */
    static Memory of(int length, int gpu) {
        return gpu < 0 ? new Memory(length) : new GpuTestMemory(length, gpu);
    }

    GpuTestMemory(int length, int gpu) {
        this(length, gpu, new Allocation(Cuda.open(gpu)));
    }

    private GpuTestMemory(int length, int gpu, Allocation allocation) {
        super(length, null, allocation);
        this.gpu = gpu;
        this.device = allocation.device;
        this.memory = allocation.made;
        changedAll();
    }

    /** Which one it is of. */
    int gpu() {
        return gpu;
    }

    @Override
    int register(TransferEngine engine) {
        return register(engine, guard());
    }

    @Override
    int register(TransferEngine engine, RegionGuard other) {
        return engine.registerGpuMemory(address, length, gpu, other);
    }

    @Override
    void fromDevice(long hostAddress, long deviceAddress, long bytes) {
        FakeCuda.peek(deviceAddress, hostAddress, bytes);
    }

    @Override
    void toDevice(long deviceAddress, long hostAddress, long bytes) {
        FakeCuda.poke(deviceAddress, hostAddress, bytes);
    }

    @Override
    public void close() {
        memory.close();
        device.close();
        super.close();
    }
}
