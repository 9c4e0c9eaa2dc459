// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The least of what this process may use: the machine's memory and the limits of its control groups, version 1 or 2, its own and all above
 * it.
 *
 * @param bytes the limit; {@link Long#MAX_VALUE} when nothing is known
 * @param origin what sets it, for messages
 */
record MemoryLimits(long bytes, String origin) {
    /** Version 1 writes "no limit" as a huge page-aligned number. */
    private static final long NO_LIMIT_FROM = 1L << 60;

    static MemoryLimits ofThisProcess() {
        return read(Path.of("/proc"), Path.of("/sys/fs/cgroup"));
    }

    static MemoryLimits read(Path proc, Path cgroups) {
        MemoryLimits least = new MemoryLimits(Long.MAX_VALUE, "no known limit");
        for (String line : lines(proc.resolve("meminfo"))) {
            if (line.startsWith("MemTotal:")) {
                least = least.atMost(number(line.replaceAll("\\D", "")) * 1024, "the machine's memory");
            }
        }
        for (String line : lines(proc.resolve("self/cgroup"))) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[1].isEmpty()) {
                least = least.atMostInPath(cgroups, parts[2], "memory.max");
            } else if (parts.length == 3 && List.of(parts[1].split(",")).contains("memory")) {
                least = least.atMostInPath(cgroups.resolve("memory"), parts[2], "memory.limit_in_bytes");
            }
        }
        return least;
    }

    /** Inside a container the group's path may name folders that only exist outside: those are skipped, the root is read always. */
    private MemoryLimits atMostInPath(Path root, String group, String file) {
        MemoryLimits least = this;
        Path folder = root.resolve(group.replaceFirst("^/+", "")).normalize();
        while (folder != null && folder.startsWith(root)) {
            Path limit = folder.resolve(file);
            for (String line : lines(limit)) {
                least = least.atMost(number(line.strip()), "the container's limit in " + limit);
            }
            folder = folder.getParent();
        }
        return least;
    }

    private MemoryLimits atMost(long limit, String by) {
        return limit > 0 && limit < NO_LIMIT_FROM && limit < bytes ? new MemoryLimits(limit, by) : this;
    }

    /** Not a number ("max") is no limit. */
    private static long number(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    private static List<String> lines(@Nullable Path file) {
        try {
            return file != null && Files.isReadable(file) && Files.isRegularFile(file)
                    ? Files.readAllLines(file)
                    : List.of();
        } catch (IOException e) {
            return List.of();
        }
    }
}
