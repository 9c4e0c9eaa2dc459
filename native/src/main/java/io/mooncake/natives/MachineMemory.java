// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The memory that this process may use.
 *
 * @param physicalBytes the machine's memory as its kernel counts it; empty where the kernel does not say
 * @param cgroupLimitBytes the tightest limit of the control groups this process is in; empty when none limits it below the machine's
 *     memory
 */
public record MachineMemory(OptionalLong physicalBytes, OptionalLong cgroupLimitBytes) {
    private static final Pattern MEM_TOTAL = Pattern.compile("MemTotal:\\s+(\\d+) kB");

    /** Reads the kernel's files now. Never throws; takes well under a millisecond. */
    public static MachineMemory read() {
        return read(Path.of("/proc"), Path.of("/sys/fs/cgroup"));
    }

    static MachineMemory read(Path proc, Path cgroups) {
        OptionalLong physical = physical(proc.resolve("meminfo"));
        long limit = Long.MAX_VALUE;
        for (String line : lines(proc.resolve("self/cgroup"))) {
            String[] fields = line.split(":", 3);
            if (fields.length == 3) {
                limit = Math.min(limit, limitOf(fields[1], fields[2], cgroups));
            }
        }
        boolean limits = limit < physical.orElse(Long.MAX_VALUE);
        return new MachineMemory(physical, limits ? OptionalLong.of(limit) : OptionalLong.empty());
    }

    /** The smaller of the two; empty only where neither is known. */
    public OptionalLong usableBytes() {
        return cgroupLimitBytes.isPresent() ? cgroupLimitBytes : physicalBytes;
    }

    private static OptionalLong physical(Path meminfo) {
        for (String line : lines(meminfo)) {
            Matcher total = MEM_TOTAL.matcher(line);
            if (total.matches()) {
                return OptionalLong.of(Long.parseLong(total.group(1)) * 1024);
            }
        }
        return OptionalLong.empty();
    }

    // Version 2 has an empty controller list and one tree; version 1 has a tree of its own for the memory controller.
    private static long limitOf(String controllers, String group, Path cgroups) {
        if (controllers.isEmpty()) {
            return tightest(cgroups, group, "memory.max");
        }
        return List.of(controllers.split(",")).contains("memory")
                ? tightest(cgroups.resolve("memory"), group, "memory.limit_in_bytes")
                : Long.MAX_VALUE;
    }

    // A parent's limit binds its children. Inside a container the tree often starts at its own group, so a path that is
    // not there is
    // passed over on the way up to the root.
    private static long tightest(Path root, String group, String file) {
        long limit = Long.MAX_VALUE;
        Path relative = Path.of("/").relativize(Path.of("/" + group).normalize());
        for (Path at = root.resolve(relative); at != null && at.startsWith(root); at = at.getParent()) {
            for (String line : lines(at.resolve(file))) {
                // "max" is no limit; version 1 writes a number near 2^63 for it.
                if (line.matches("\\d{1,18}")) {
                    limit = Math.min(limit, Long.parseLong(line));
                }
            }
        }
        return limit;
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            return List.of();
        }
    }
}
