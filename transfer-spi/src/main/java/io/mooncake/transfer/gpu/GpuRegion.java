// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.transfer.internal.DeviceMemory;
import org.jspecify.annotations.Nullable;

/** A registered range of a GPU's memory. Until the way of its bytes is chosen, they are staged. */
final class GpuRegion implements DeviceMemory {
    private final GpuDevice device;
    /** Written by the thread that registers, and when the card has lost it. */
    private volatile GpuReport report;

    GpuRegion(GpuDevice device) {
        this.device = device;
        this.report = new GpuReport(device.device().gpu(), GpuPath.STAGED, "being registered");
    }

    GpuDevice device() {
        return device;
    }

    void chosen(GpuReport how) {
        report = how;
    }

    GpuReport report() {
        return report;
    }

    @Override
    public String pciAddress() {
        return device.device().gpu().pciBusId();
    }

    @Override
    public boolean direct() {
        return report.path().direct();
    }

    @Override
    public @Nullable Passage open(long deadlineNanos) {
        return device.passage(deadlineNanos);
    }

    @Override
    public boolean flushRemoteWrites() {
        return device.flushRemoteWrites();
    }
}
