// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Where GPU memory begins: whether the CUDA driver can be used here, and the devices. The driver is opened at run time.
 *
 * <p>The classes of this package add nothing to the driver but types and ownership: no threads, no buffers, no policy.
 */
public final class Cuda {
    /** Names another driver library; for tests. */
    static final String LIBRARY_PROPERTY = "mooncake.cuda.library";

    /** Names another folder of what the kernel has loaded; for tests. */
    static final String MODULES_PROPERTY = "mooncake.cuda.modules";

    private static final String LIBRARY = "libcuda.so.1";
    private static final String MODULES = "/sys/module";
    private static final List<String> PEER_MEMORY_MODULES = List.of("nvidia_peermem", "nv_peer_mem");

    private Cuda() {}

    /** The library that is opened. */
    static String library() {
        return System.getProperty(LIBRARY_PROPERTY, LIBRARY);
    }

    /** Why CUDA cannot be used at all, in one line; empty when it can and has a device. Never throws. */
    public static Optional<String> unavailable() {
        if (NativeBridge.availability() instanceof NativeBridge.Unavailable absent) {
            return Optional.of("native bridge: " + absent.reason());
        }
        DeviceProbe probe = DeviceProbe.of(NativeCalls.cudaDevices(library()));
        return probe.usable() ? Optional.empty() : Optional.of(probe.reason());
    }

    /** The devices in the driver's order; empty when there are none or CUDA cannot be used. Never throws. */
    public static List<CudaGpu> gpus() {
        if (unavailable().isPresent()) {
            return List.of();
        }
        long driver = CudaCalls.load(library(), new String[1]);
        int[] found = new int[2];
        if (driver == 0 || CudaCalls.init(driver, found) != 0) {
            return List.of();
        }
        List<CudaGpu> gpus = new ArrayList<>();
        for (int i = 0; i < found[1]; i++) {
            String[] texts = {"", ""};
            long[] numbers = new long[4];
            if (CudaCalls.describe(driver, i, texts, numbers) == 0) {
                // The driver writes its letters large, sysfs small.
                String bus = texts[1].toLowerCase(Locale.ROOT);
                gpus.add(new CudaGpu(
                        i,
                        texts[0],
                        bus,
                        numbers[0],
                        numbers[1] != 0,
                        numbers[2] != 0,
                        CudaGpu.RemoteWrites.values()[(int) numbers[3]]));
            }
        }
        return List.copyOf(gpus);
    }

    /**
     * Opens a device: retains its primary context, the one that CUDA programs of this process share.
     *
     * @throws MooncakeException CONFIGURATION when CUDA cannot be used; INVALID_ARGUMENT for an ordinal that is none; CudaException
     */
    public static CudaDevice open(int ordinal) {
        Optional<String> reason = unavailable();
        if (reason.isPresent()) {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, "CUDA: " + reason.get());
        }
        List<CudaGpu> gpus = gpus();
        CudaGpu gpu = gpus.stream()
                .filter(one -> one.ordinal() == ordinal)
                .findFirst()
                .orElseThrow(() -> MooncakeException.invalid(
                        "cudaDevice",
                        ordinal,
                        "one of " + gpus.stream().map(CudaGpu::ordinal).toList()));
        long driver = CudaCalls.load(library(), new String[1]);
        int[] error = new int[1];
        long handle = CudaCalls.open(driver, ordinal, error);
        if (handle == 0) {
            throw new CudaException("GPU " + ordinal + ": open", error[0], CudaCalls.errorName(driver, error[0]));
        }
        return new CudaDevice(gpu, driver, handle);
    }

    /** The kernel module that lets network cards register GPU addresses, if it is loaded. */
    public static Optional<String> peerMemoryModule() {
        Path loaded = Path.of(System.getProperty(MODULES_PROPERTY, MODULES));
        return PEER_MEMORY_MODULES.stream()
                .filter(module -> Files.isDirectory(loaded.resolve(module)))
                .findFirst();
    }
}
