// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaException;
import io.mooncake.natives.CudaStream;

/**
 * A stream of a GPU and the description of its next copy. One thread at a time. A lane that has failed stays so: what the device does with
 * later copies is not to be relied upon.
 */
final class GpuLane implements AutoCloseable {
    private final GpuErrors errors;
    private final CudaStream stream;
    private final long[] copy = new long[CudaStream.COPY_LONGS];
    private boolean failed;

    GpuLane(CudaDevice device, GpuErrors errors) {
        this.errors = errors;
        this.stream = device.createStream();
    }

    boolean failed() {
        return failed;
    }

    /** Starts a copy, which has both its ranges until {@link #await}; false when the device failed. */
    boolean start(boolean toDevice, long deviceAddress, long hostAddress, long bytes) {
        if (failed) {
            return false;
        }
        CudaStream.describe(copy, 0, toDevice, deviceAddress, hostAddress, bytes);
        try {
            stream.start(copy, 1);
            return true;
        } catch (CudaException e) {
            return fail(e);
        }
    }

    /** Starts a copy and waits for it. */
    boolean copy(boolean toDevice, long deviceAddress, long hostAddress, long bytes) {
        if (failed) {
            return false;
        }
        CudaStream.describe(copy, 0, toDevice, deviceAddress, hostAddress, bytes);
        try {
            stream.copy(copy, 1);
            return true;
        } catch (CudaException e) {
            return fail(e);
        }
    }

    /** All that was started has ended; false when something of it failed. */
    boolean await() {
        if (failed) {
            return false;
        }
        try {
            stream.synchronize();
            return true;
        } catch (CudaException e) {
            return fail(e);
        }
    }

    private boolean fail(CudaException e) {
        failed = true;
        errors.count(e);
        return false;
    }

    @Override
    public void close() {
        try {
            stream.close();
        } catch (CudaException e) {
            errors.count(e);
        }
    }
}
