// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import io.mooncake.base.ByteSize;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.jspecify.annotations.Nullable;

/**
 * What this process may come to use at most, part by part, against what there is. Several nodes in one JVM are planned one by one.
 *
 * @param own what the plugin takes
 * @param parts name to bytes
 * @param availableBytes memory of the machine or of its container, whichever is less
 */
public record MemoryPlan(OwnParts own, Map<String, Long> parts, long availableBytes) {
    /** Code, thread stacks, buffers of the network: what a JVM needs besides. */
    static final long OVERHEAD_BYTES = 192L << 20;

    private static final long GIB = 1L << 30;

    public MemoryPlan {
        parts = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(parts));
    }

    /**
     * What the plugin itself takes.
     *
     * @param dramBytes blocks
     * @param ssdHeapBytes of the Java heap that the blocks on the SSD take, 0 for none; they are in -Xmx already, and shown
     * @param indexBytes who holds what
     * @param feedBytes last events of this node's pools
     * @param extensionBytes off the heap, by the extensions
     */
    public record OwnParts(long dramBytes, long ssdHeapBytes, long indexBytes, long feedBytes, long extensionBytes) {}

    /** The plan of a node as it is configured. */
    public static MemoryPlan of(IgniteConfiguration config, OwnParts own) {
        return of(config, own, machineBytes());
    }

    static MemoryPlan of(IgniteConfiguration config, OwnParts own, long availableBytes) {
        Map<String, Long> parts = new LinkedHashMap<>();
        parts.put(
                "Java heap (-Xmx"
                        + (own.ssdHeapBytes() == 0
                                ? ")"
                                : ", of it " + ByteSize.format(own.ssdHeapBytes()) + " for ssd)"),
                Runtime.getRuntime().maxMemory());
        if (!Boolean.TRUE.equals(config.isClientMode())) {
            addRegions(parts, config.getDataStorageConfiguration());
        }
        parts.put("dram of this plugin", own.dramBytes());
        if (own.indexBytes() > 0) {
            parts.put("index of other nodes' blocks", own.indexBytes());
        }
        if (own.feedBytes() > 0) {
            parts.put("feed of this node's blocks", own.feedBytes());
        }
        if (own.extensionBytes() > 0) {
            parts.put("extensions", own.extensionBytes());
        }
        parts.put("JVM overhead", OVERHEAD_BYTES);
        return new MemoryPlan(own, parts, availableBytes);
    }

    /** Memory of the machine, or of the container where that is less. */
    public static long machineBytes() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.OperatingSystemMXBean machine
                ? machine.getTotalMemorySize()
                : Long.MAX_VALUE;
    }

    /** The sum of the parts. */
    public long totalBytes() {
        return parts.values().stream().mapToLong(Long::longValue).reduce(0, MemoryPlan::addCapped);
    }

    /** Whether it fits. */
    public boolean fits() {
        return totalBytes() <= availableBytes;
    }

    /** The sum as people write it. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        parts.forEach((name, bytes) -> text.append(text.isEmpty() ? "" : " + ")
                .append(name)
                .append(' ')
                .append(ByteSize.format(bytes)));
        return text + " = " + ByteSize.format(totalBytes()) + " of " + ByteSize.format(availableBytes);
    }

    private static void addRegions(Map<String, Long> parts, @Nullable DataStorageConfiguration configured) {
        DataStorageConfiguration storage = configured == null ? new DataStorageConfiguration() : configured;
        addRegion(parts, storage.getDefaultDataRegionConfiguration());
        DataRegionConfiguration[] others = storage.getDataRegionConfigurations();
        if (others != null) {
            for (DataRegionConfiguration region : others) {
                addRegion(parts, region);
            }
        }
        parts.put(
                "Ignite's system region",
                storage.getSystemDataRegionConfiguration().getMaxSize());
    }

    private static void addRegion(Map<String, Long> parts, DataRegionConfiguration region) {
        parts.put("Ignite region '" + region.getName() + "'", region.getMaxSize());
        if (region.isPersistenceEnabled()) {
            parts.put("checkpoint buffer of '" + region.getName() + "'", checkpointBuffer(region));
        }
    }

    /** What Ignite takes when the buffer's size is left open. */
    private static long checkpointBuffer(DataRegionConfiguration region) {
        if (region.getCheckpointPageBufferSize() > 0) {
            return region.getCheckpointPageBufferSize();
        }
        if (region.getMaxSize() < GIB) {
            return Math.min(GIB / 4, region.getMaxSize());
        }
        return region.getMaxSize() < 8 * GIB ? region.getMaxSize() / 4 : 2 * GIB;
    }

    private static long addCapped(long left, long right) {
        long sum = left + right;
        return sum < 0 ? Long.MAX_VALUE : sum;
    }
}
