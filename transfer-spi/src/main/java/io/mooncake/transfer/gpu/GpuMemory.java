// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.Cuda;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaGpu;
import io.mooncake.natives.Verbs;
import io.mooncake.transfer.internal.DeviceMemory;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.Staging;
import io.mooncake.transfer.internal.TransferBatch;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPU memory of one engine: its open GPUs and the pinned memory that batches pass through.
 *
 * <p>GPUs are opened with their first region and closed, all together, when the last region of any of them has gone: the pinned memory is
 * shared between them. Regions come and go under the lock of this; transfers take no lock of this, and hold their regions meanwhile.
 */
public final class GpuMemory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GpuMemory.class);

    private final GpuErrors errors = new GpuErrors();
    // Guarded by this.
    private final Map<Integer, GpuDevice> devices = new HashMap<>();
    private final List<Region> regions = new ArrayList<>();
    private volatile @Nullable PinnedArena arena;
    /** Why no network card takes part; empty when one does. Guarded by this. */
    private String noCard = "";

    /** How the engine's network card learns of GPU memory; none of it where there is no card. */
    public interface Card {
        /** Registers a range that the card reaches through dma-bufs of {@code device}; throws with the reason when that can't be. */
        void registerDmaBuf(Region region, CudaDevice device);

        /** Registers a range by its address, as memory of the host is; throws with the reason when that can't be. */
        void register(Region region);

        /** Lets go of a range that {@link #register} was told of. */
        void deregister(Region region);
    }

    /** Makes the region of an engine. */
    @FunctionalInterface
    public interface Registration {
        /** Registers the range that this was made for, as {@code memory}. */
        Region register(DeviceMemory memory);
    }

    /**
     * Registers memory of a GPU.
     *
     * @param registration makes the region, when the memory has turned out to be what it is said to be
     * @param card the engine's network card, if it has one
     * @throws MooncakeException INVALID_ARGUMENT when the range is not memory of that GPU; CONFIGURATION without a usable GPU; a CudaException
     */
    public synchronized Region register(
            long address, long length, int cudaDevice, Registration registration, @Nullable Card card) {
        try {
            GpuDevice device = device(cudaDevice);
            requireMemory(device.device(), address, length);
            if (arena == null) {
                arena = new PinnedArena(device.device(), errors);
                noCard = arena.register(card);
            }
            GpuRegion memory = new GpuRegion(device);
            Region region = registration.register(memory);
            regions.add(region);
            GpuReport report = noCard.isEmpty() && card != null
                    ? choose(device.device(), region, card)
                    : new GpuReport(device.device().gpu(), GpuPath.STAGED, noCard);
            memory.chosen(report);
            LOG.info(
                    "Region {} on GPU {} ({}): {}{}",
                    region.id(),
                    cudaDevice,
                    report.gpu().name(),
                    report.path().text(),
                    report.reason().isEmpty() ? "" : ", because " + report.reason());
            return region;
        } finally {
            closeUnused();
        }
    }

    private GpuDevice device(int ordinal) {
        GpuDevice known = devices.get(ordinal);
        if (known != null) {
            return known;
        }
        GpuDevice opened = new GpuDevice(Cuda.open(ordinal), errors);
        devices.put(ordinal, opened);
        return opened;
    }

    private static void requireMemory(CudaDevice device, long address, long length) {
        if (address <= 0 || length < 1 || address > Long.MAX_VALUE - length) {
            throw MooncakeException.invalid("GPU memory", address + "+" + length, "an address and at least 1 byte");
        }
        String range = "0x" + Long.toHexString(address) + "+" + length;
        String expected = "memory of GPU " + device.gpu().ordinal();
        CudaDevice.Pointer first;
        try {
            first = device.pointer(address);
        } catch (MooncakeException e) {
            throw new MooncakeException(
                    MooncakeException.Code.INVALID_ARGUMENT,
                    "GPU memory: " + range + " (expected: " + expected + "): " + e.getMessage(),
                    e);
        }
        if (!first.deviceMemory() || first.ordinal() != device.gpu().ordinal()) {
            throw MooncakeException.invalid(
                    "GPU memory",
                    range + " of " + (first.deviceMemory() ? "GPU " + first.ordinal() : "the host"),
                    expected);
        }
        long inside = address - first.start();
        if (inside < 0 || length > first.bytes() || inside > first.bytes() - length) {
            throw MooncakeException.invalid(
                    "GPU memory", range, "inside of 0x" + Long.toHexString(first.start()) + "+" + first.bytes());
        }
    }

    private static GpuReport choose(CudaDevice device, Region region, Card card) {
        CudaGpu gpu = device.gpu();
        List<String> against = new ArrayList<>();
        String dmaBuf = GpuReport.againstDmaBuf(gpu, Verbs.dmaBufSupported());
        if (dmaBuf.isEmpty()) {
            try {
                card.registerDmaBuf(region, device);
                return new GpuReport(gpu, GpuPath.DMA_BUF, "");
            } catch (MooncakeException e) {
                dmaBuf = String.valueOf(e.getMessage());
            }
        }
        against.add("dma-buf: " + dmaBuf);
        Optional<String> module = Cuda.peerMemoryModule();
        String peerMemory = GpuReport.againstPeerMemory(gpu, module);
        if (peerMemory.isEmpty()) {
            try {
                device.syncMemoryOperations(region.address());
                card.register(region);
                return new GpuReport(gpu, GpuPath.PEER_MEMORY, String.join("; ", against));
            } catch (MooncakeException e) {
                peerMemory = String.valueOf(e.getMessage());
            }
        }
        against.add("peer memory: " + peerMemory);
        return new GpuReport(gpu, GpuPath.STAGED, String.join("; ", against));
    }

    /** How a region's bytes go; empty for a region of the host's memory. */
    public static Optional<GpuReport> report(Region region) {
        return region.device() instanceof GpuRegion gpu ? Optional.of(gpu.report()) : Optional.empty();
    }

    /** The network card has lost the region: from now on its bytes are staged, because of {@code reason}. */
    public static void lost(Region region, String reason) {
        if (region.device() instanceof GpuRegion gpu) {
            gpu.chosen(new GpuReport(gpu.report().gpu(), GpuPath.STAGED, reason));
        }
    }

    /** Ends all batches that wait for buffers: they hold regions, one of which is to end. */
    public void cut() {
        PinnedArena pinned = arena;
        if (pinned != null) {
            pinned.cut();
        }
    }

    /** Lets go of a region whose registration has ended, and of all GPUs with the last one. */
    public synchronized void release(Region region) {
        if (regions.remove(region)) {
            closeUnused();
        }
    }

    /**
     * What the batch's slices pass through, for those of its requests whose local regions lie on a GPU; null when none does.
     *
     * @param held the local region of each request; may be longer than the batch
     * @throws MooncakeException INVALID_ARGUMENT when a checksum covers more than can be staged
     */
    public @Nullable Staging staging(TransferBatch batch, @Nullable Region[] held) {
        PinnedArena pinned = arena;
        if (pinned == null) {
            return null;
        }
        @Nullable GpuRegion[] gpus = null;
        int slotBytes = 0;
        for (int i = 0; i < batch.requests(); i++) {
            Region region = held[i];
            if (region != null && region.device() instanceof GpuRegion gpu) {
                gpus = gpus == null ? new GpuRegion[batch.requests()] : gpus;
                gpus[i] = gpu;
                slotBytes = Math.max(slotBytes, batch.largestSlice(i));
            }
        }
        if (gpus == null) {
            return null;
        }
        if (slotBytes > PinnedArena.BYTES) {
            throw MooncakeException.invalid(
                    "segment", slotBytes, "at most " + PinnedArena.BYTES + " bytes a checksum for GPU memory");
        }
        return new BatchStaging(pinned, gpus, slotBytes, batch.slices(), batch.deadlineNanos());
    }

    /** Under the lock. */
    private void closeUnused() {
        if (!regions.isEmpty()) {
            return;
        }
        PinnedArena pinned = arena;
        arena = null;
        if (pinned != null) {
            pinned.close();
        }
        devices.values().forEach(GpuDevice::close);
        devices.clear();
    }

    /** Closes all GPUs; no region is in use any more. */
    @Override
    public synchronized void close() {
        regions.clear();
        closeUnused();
    }
}
