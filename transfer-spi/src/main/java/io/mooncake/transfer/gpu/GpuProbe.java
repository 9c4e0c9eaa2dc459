// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.Cuda;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaGpu;
import io.mooncake.natives.CudaMemory;
import io.mooncake.natives.CudaStream;
import io.mooncake.natives.DmaBuf;
import io.mooncake.natives.Verbs;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsRegistration;
import io.mooncake.transfer.internal.RawMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** Tries each way that the bytes of a GPU's memory can go, with a little memory of it that is given back. */
public final class GpuProbe {
    private static final int BYTES = 64 << 10;
    private static final int ACCESS = VerbsDevice.LOCAL_WRITE | VerbsDevice.REMOTE_WRITE | VerbsDevice.REMOTE_READ;

    private GpuProbe() {}

    /**
     * How one way ended.
     *
     * @param over the RDMA devices that took it; none for staging
     * @param against what was against it, by each device that refused; empty when it is open
     */
    public record Way(GpuPath path, List<String> over, List<String> against) {
        public Way {
            over = List.copyOf(over);
            against = List.copyOf(against);
        }

        /** Whether bytes can go so; direct ways need every device. */
        public boolean open() {
            return against.isEmpty();
        }

        private static Way closed(GpuPath path, String reason) {
            return new Way(path, List.of(), List.of(reason));
        }
    }

    /**
     * The ways, best first; the first one that is open is taken. Never throws.
     *
     * @param rdmaDevices those that an engine would use
     */
    public static List<Way> ways(CudaGpu gpu, List<String> rdmaDevices) {
        try (CudaDevice device = Cuda.open(gpu.ordinal());
                CudaMemory memory = device.allocate(BYTES)) {
            return List.of(
                    dmaBuf(device, memory, rdmaDevices),
                    peerMemory(device, memory, rdmaDevices),
                    staged(device, memory));
        } catch (MooncakeException e) {
            String reason = String.valueOf(e.getMessage());
            return Arrays.stream(GpuPath.values())
                    .map(path -> Way.closed(path, reason))
                    .toList();
        }
    }

    private static Way dmaBuf(CudaDevice device, CudaMemory memory, List<String> rdmaDevices) {
        String known = GpuReport.againstDmaBuf(device.gpu(), Verbs.dmaBufSupported());
        return direct(GpuPath.DMA_BUF, known, rdmaDevices, card -> {
            try (DmaBuf buffer = device.exportDmaBuf(memory.address(), BYTES)) {
                return card.registerDmaBuf(buffer, buffer.offset(), BYTES, memory.address(), ACCESS);
            }
        });
    }

    private static Way peerMemory(CudaDevice device, CudaMemory memory, List<String> rdmaDevices) {
        String known = GpuReport.againstPeerMemory(device.gpu(), Cuda.peerMemoryModule());
        return direct(GpuPath.PEER_MEMORY, known, rdmaDevices, card -> {
            device.syncMemoryOperations(memory.address());
            return card.register(memory.address(), BYTES, ACCESS);
        });
    }

    private static Way direct(
            GpuPath path, String known, List<String> rdmaDevices, Function<VerbsDevice, VerbsRegistration> register) {
        List<String> over = new ArrayList<>();
        List<String> against = new ArrayList<>();
        if (rdmaDevices.isEmpty()) {
            against.add("no RDMA device");
        }
        if (!known.isEmpty()) {
            against.add(known);
        }
        for (String name : against.isEmpty() ? rdmaDevices : List.<String>of()) {
            try (VerbsDevice card = Verbs.open(name)) {
                register.apply(card).close();
                over.add(name);
            } catch (MooncakeException e) {
                against.add(String.valueOf(e.getMessage()));
            }
        }
        return new Way(path, over, against);
    }

    /** A word there and back. */
    private static Way staged(CudaDevice device, CudaMemory memory) {
        long word = 0x0123_4567_89ab_cdefL;
        try (CudaMemory pinned = device.allocatePinned(BYTES);
                CudaStream stream = device.createStream()) {
            long[] copy = new long[CudaStream.COPY_LONGS];
            RawMemory.putLong(pinned.address(), word);
            CudaStream.describe(copy, 0, true, memory.address(), pinned.address(), BYTES);
            stream.copy(copy, 1);
            RawMemory.putLong(pinned.address(), 0);
            CudaStream.describe(copy, 0, false, memory.address(), pinned.address(), BYTES);
            stream.copy(copy, 1);
            boolean same = RawMemory.getLong(pinned.address()) == word;
            return same
                    ? new Way(GpuPath.STAGED, List.of(), List.of())
                    : Way.closed(GpuPath.STAGED, "a copy to the GPU and back gave other bytes");
        } catch (MooncakeException e) {
            return Way.closed(GpuPath.STAGED, String.valueOf(e.getMessage()));
        }
    }
}
