// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.ByteSize;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.util.ArrayList;
import java.util.List;

/**
 * What a {@link MemoryPool} takes of this machine, and what there is.
 *
 * @param gpuBytes of the GPU tier, 0 for none
 * @param gpu the device, or why there is none
 * @param cpuBytes of the DRAM tier, 0 for none
 * @param cpuPages what its pages are
 * @param ssdBytes of the SSD tier, 0 for none
 * @param ssd the file and how it is written
 * @param heapBytes the most that the Java heap may become
 * @param stateBytes of the heap that the states of blocks take
 * @param limitBytes of memory that this process may use
 * @param limitOrigin what sets it
 */
public record MemoryPlan(
        long gpuBytes,
        String gpu,
        long cpuBytes,
        String cpuPages,
        long ssdBytes,
        String ssd,
        long heapBytes,
        long stateBytes,
        long limitBytes,
        String limitOrigin) {

    /** DRAM and heap must fit together; what else the process needs is not known. */
    static void requireFits(long cpuBytes, long heapBytes, MemoryLimits limits) {
        if (cpuBytes > limits.bytes() - Math.min(heapBytes, limits.bytes())) {
            throw new MooncakeException(
                    Code.CONFIGURATION,
                    "cpuBytes: " + cpuBytes + " = " + ByteSize.format(cpuBytes) + ", with a Java heap of up to "
                            + ByteSize.format(heapBytes) + " (expected: together at most " + limits.bytes() + " = "
                            + ByteSize.format(limits.bytes()) + ", " + limits.origin() + ")");
        }
    }

    /** The plan for people, a line a part. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("GPU   " + (gpuBytes == 0 ? "none" : ByteSize.format(gpuBytes) + " on " + gpu));
        lines.add("DRAM  " + (cpuBytes == 0 ? "none" : ByteSize.format(cpuBytes) + ", " + cpuPages));
        lines.add("SSD   " + (ssdBytes == 0 ? "none" : ByteSize.format(ssdBytes) + ", " + ssd));
        lines.add("heap  up to " + ByteSize.format(heapBytes) + ", of it " + ByteSize.format(stateBytes)
                + " for the states of blocks");
        lines.add("limit " + (limitBytes == Long.MAX_VALUE ? "unknown" : ByteSize.format(limitBytes)) + ", "
                + limitOrigin);
        return lines;
    }

    @Override
    public String toString() {
        return String.join("\n", lines());
    }
}
