// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;
import java.util.List;
import java.util.Optional;

/**
 * Where RDMA begins: whether verbs can be used here, and the devices. libibverbs is opened at run time.
 *
 * <p>The classes of this package add nothing to the driver but types and ownership: no threads, no buffers, no policy.
 */
public final class Verbs {
    /** Names another library, before the first call; for tests. */
    static final String LIBRARY_PROPERTY = "mooncake.verbs.library";

    private static final String LIBRARY = "libibverbs.so.1";

    private Verbs() {}

    /** Why verbs cannot be used at all, in one line; empty when they can, which says nothing about devices. Never throws. */
    public static Optional<String> unavailable() {
        if (NativeBridge.availability() instanceof NativeBridge.Unavailable absent) {
            return Optional.of("native bridge: " + absent.reason());
        }
        return Optional.ofNullable(VerbsCalls.unavailable(System.getProperty(LIBRARY_PROPERTY, LIBRARY)));
    }

    /** The names of the devices in the driver's order; empty when there are none or verbs cannot be used. Never throws. */
    public static List<String> devices() {
        if (unavailable().isPresent()) {
            return List.of();
        }
        return DeviceProbe.of(NativeCalls.rdmaDevices()).devices();
    }

    /** Whether libibverbs can register dma-bufs, which those before rdma-core 34 can't. A device may refuse all the same. Never throws. */
    public static boolean dmaBufSupported() {
        return unavailable().isEmpty() && VerbsCalls.dmaBuf();
    }

    /**
     * Opens a device.
     *
     * @throws MooncakeException CONFIGURATION when verbs cannot be used; VerbsException when the device cannot be opened
     */
    public static VerbsDevice open(String name) {
        Optional<String> reason = unavailable();
        if (reason.isPresent()) {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, "RDMA: " + reason.get());
        }
        int[] error = new int[1];
        long handle = VerbsCalls.open(name, error);
        if (handle == 0) {
            throw new VerbsException("open " + name, error[0]);
        }
        return new VerbsDevice(name, handle);
    }

    static void require(String call, int errno) {
        if (errno != 0) {
            throw new VerbsException(call, errno);
        }
    }
}
