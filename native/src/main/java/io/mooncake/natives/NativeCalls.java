// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

/** The exports of libmooncake, one method each. Call them only when {@link NativeBridge#availability()} is available. */
final class NativeCalls {
    private NativeCalls() {}

    /** The number of the bridge's C interface. */
    static native int version();

    /** {@code {reason, driver, device...}}: see {@link DeviceProbe}. */
    static native String[] rdmaDevices();

    /** {@code {reason, driver, device...}}: see {@link DeviceProbe}. */
    static native String[] cudaDevices();

    /** The size of a memory page. */
    static native long pageSizeBytes();

    /** RLIMIT_MEMLOCK of this process: -1 is unlimited, -2 unknown. */
    static native long memlockBytes(boolean hard);
}
