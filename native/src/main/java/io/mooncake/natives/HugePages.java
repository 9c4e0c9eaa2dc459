// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The kernel's pool of huge pages of one size.
 *
 * @param pageBytes size of a page
 * @param total pages in the pool
 * @param free pages that nobody uses
 */
public record HugePages(long pageBytes, long total, long free) {
    private static final Path POOLS = Path.of("/sys/kernel/mm/hugepages");
    private static final Pattern POOL = Pattern.compile("hugepages-(\\d+)kB");

    /** The pools of this machine by size, smallest first; empty where the kernel shows none. */
    public static List<HugePages> pools() {
        return pools(POOLS);
    }

    static List<HugePages> pools(Path folder) {
        List<HugePages> pools = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
            for (Path entry : entries) {
                Matcher size = POOL.matcher(String.valueOf(entry.getFileName()));
                if (size.matches()) {
                    pools.add(new HugePages(
                            Long.parseLong(size.group(1)) * 1024,
                            number(entry.resolve("nr_hugepages")),
                            number(entry.resolve("free_hugepages"))));
                }
            }
        } catch (IOException e) {
            return List.of();
        }
        pools.sort(Comparator.comparingLong(HugePages::pageBytes));
        return List.copyOf(pools);
    }

    private static long number(Path file) throws IOException {
        return Long.parseLong(Files.readString(file).strip());
    }
}
