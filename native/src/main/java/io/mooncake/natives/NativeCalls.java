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
    static native String[] cudaDevices(String library);

    /** The size of a memory page. */
    static native long pageSizeBytes();

    /** RLIMIT_MEMLOCK of this process: -1 is unlimited, -2 unknown. */
    static native long memlockBytes(boolean hard);

    /** {@code {address, descriptor, device, inode}} or {@code {-errno}}: see {@link SharedFile}. */
    static native long[] sharedCreate(String path, long bytes);

    /** {@code {address, descriptor, bytes}} or {@code {-errno}}. */
    static native long[] sharedOpen(String path, long device, long inode);

    /** Whether the creator holds its lock: 1, 0 or -errno. */
    static native int sharedHeld(int descriptor);

    /** Fills the page table: 0 or -errno. */
    static native int sharedPopulate(long address, long bytes, boolean write);

    /** Copies between raw addresses that do not overlap. */
    static native void copy(long from, long to, long bytes);

    /** Unmaps and closes. */
    static native void sharedClose(long address, long bytes, int descriptor);

    /** Sleeps while the word holds {@code seen}: 0 or -errno. */
    static native int sharedWait(long address, int seen, long nanos);

    /** Wakes who sleeps on the word: how many or -errno. */
    static native int sharedWake(long address);

    /** Removes the file unless somebody holds it: 1, 0 or -errno. */
    static native int sharedRemoveOrphan(String path);

    /** Allocates the blocks of the file's first bytes: 0 or errno. */
    static native int fileAllocate(String path, long bytes);

    /** Whether the processor has what {@link #chainKeys} needs. */
    static native boolean chainSupported();

    /** See {@link ChainHash}. */
    static native void chainKeys(
            long parent0,
            long parent1,
            long parent2,
            long parent3,
            int[] tokens,
            int offset,
            int blockTokens,
            int blocks,
            long[] digests);
}
