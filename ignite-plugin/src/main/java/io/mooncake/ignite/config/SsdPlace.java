// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import io.mooncake.base.ByteSize;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.SsdTier;
import io.mooncake.memory.LocalKvPool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where a node keeps blocks on its SSD.
 *
 * @param path an existing directory, absolute
 * @param capacityBytes for all pools together
 * @param heapBytes of the Java heap that the index and the catalogue take when it is full
 */
public record SsdPlace(Path path, long capacityBytes, long heapBytes) {
    /**
     * Reads the bean.
     *
     * @param workDirectory what a relative path is below, Ignite's work directory; null: nothing
     * @param wrong gets what is wrong with it, option, value and what was expected
     * @return null when something is
     */
    static @Nullable SsdPlace read(
            SsdTier bean, Role role, @Nullable String workDirectory, List<PoolDefinition> pools, List<String> wrong) {
        int before = wrong.size();
        if (role == Role.OBSERVER) {
            wrong.add("ssd: set (expected: not set where role is OBSERVER, which holds nothing)");
        }
        Path path = path(bean.getPath(), workDirectory, wrong);
        long capacity = capacity(bean.getCapacity(), pools, path, wrong);
        long heap = heap(bean.getCapacity(), capacity, pools, wrong);
        return wrong.size() > before || path == null ? null : new SsdPlace(path, capacity, heap);
    }

    private static long heap(@Nullable String named, long capacity, List<PoolDefinition> pools, List<String> wrong) {
        long heap = 0;
        for (PoolDefinition pool : pools) {
            heap += io.mooncake.memory.SsdTier.heapBytes(pool.identity(), capacity / pools.size());
        }
        long most = io.mooncake.memory.SsdTier.maxHeapBytes();
        if (heap > most) {
            wrong.add("ssd.capacity: " + named + ", which needs " + ByteSize.format(heap)
                    + " of the Java heap for its blocks' names (expected: at most " + ByteSize.format(most)
                    + ", three quarters of -Xmx; less capacity, a larger -Xmx or more blockTokens)");
        }
        return heap;
    }

    private static @Nullable Path path(@Nullable String named, @Nullable String workDirectory, List<String> wrong) {
        String expected =
                "an existing directory that this process may write to, absolute or below Ignite's work directory";
        if (named == null || named.isBlank()) {
            wrong.add("ssd.path: not set (expected: " + expected + ")");
            return null;
        }
        try {
            Path path = Path.of(named);
            if (!path.isAbsolute() && workDirectory != null) {
                path = Path.of(workDirectory).resolve(path);
            }
            if (path.isAbsolute() && Files.isDirectory(path) && Files.isWritable(path)) {
                return path;
            }
            wrong.add("ssd.path: " + path + " (expected: " + expected + ")");
        } catch (InvalidPathException e) {
            wrong.add("ssd.path: " + named + " (expected: " + expected + ")");
        }
        return null;
    }

    private static long capacity(
            @Nullable String named, List<PoolDefinition> pools, @Nullable Path path, List<String> wrong) {
        if (named == null) {
            wrong.add("ssd.capacity: not set (expected: a size such as 100GiB)");
            return 0;
        }
        long bytes;
        try {
            bytes = ByteSize.parse("ssd.capacity", named);
        } catch (MooncakeException e) {
            wrong.add(String.valueOf(e.getMessage()));
            return 0;
        }
        long least = 1;
        for (PoolDefinition pool : pools) {
            least = Math.max(least, LocalKvPool.blockStrideBytes(pool.identity()));
        }
        least *= Math.max(1, pools.size());
        if (bytes < least) {
            wrong.add("ssd.capacity: " + named + " (expected: at least " + least + " bytes, one block for each of "
                    + pools.size() + " pools)");
            return 0;
        }
        try {
            long room = path == null ? Long.MAX_VALUE : Files.getFileStore(path).getTotalSpace();
            if (bytes > room) {
                wrong.add("ssd.capacity: " + named + " (expected: at most the " + ByteSize.format(room)
                        + " of the file system of " + path + ")");
            }
        } catch (IOException e) {
            wrong.add("ssd.path: " + path + ": " + e.getMessage() + " (expected: a file system that says its size)");
        }
        return bytes;
    }
}
