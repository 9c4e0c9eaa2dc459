// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A mount of hugetlbfs with pages of its own, for tests that run as root. Closing it unmounts and gives the pages back; so does the end of
 * the JVM.
 */
public final class HugePageMount implements AutoCloseable {
    /** Bytes of a page. */
    public static final int PAGE_BYTES = 2 << 20;

    private static final Path PAGES = Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");

    private final Path folder;
    private final long added;
    private final Thread atEnd = new Thread(this::undo);

    private HugePageMount(Path folder, long added) {
        this.folder = folder;
        this.added = added;
        Runtime.getRuntime().addShutdownHook(atEnd);
    }

    /**
     * Mounts {@code pages} pages at {@code folder}, which exists; aborts the test, loudly, where that is refused.
     *
     * @param limited whether the mount itself is limited to them
     */
    public static HugePageMount mount(Path folder, int pages, boolean limited)
            throws IOException, InterruptedException {
        if (!"root".equals(System.getProperty("user.name")) || !Files.isWritable(PAGES)) {
            return refused("root and " + PAGES + " are needed");
        }
        long before = pages();
        Files.writeString(PAGES, Long.toString(before + pages));
        long added = pages() - before;
        if (added < pages) {
            Files.writeString(PAGES, Long.toString(before));
            return refused("the kernel gave " + added + " of " + pages + " huge pages");
        }
        String options = "pagesize=2M" + (limited ? ",size=" + (long) pages * PAGE_BYTES : "");
        int rc = run("mount", "-t", "hugetlbfs", "-o", options, "none", folder.toString());
        if (rc != 0) {
            Files.writeString(PAGES, Long.toString(before));
            return refused("mount ended with " + rc);
        }
        return new HugePageMount(folder, added);
    }

    private static HugePageMount refused(String why) {
        System.out.println("SKIPPED: HUGETLBFS WAS NOT TESTED. " + why);
        return abort("SKIPPED: HUGETLBFS WAS NOT TESTED. " + why);
    }

    private static long pages() throws IOException {
        return Long.parseLong(Files.readString(PAGES).strip());
    }

    private static int run(String... command) throws IOException, InterruptedException {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }

    private void undo() {
        try {
            run("umount", folder.toString());
            Files.writeString(PAGES, Long.toString(Math.max(0, pages() - added)));
        } catch (IOException | InterruptedException e) {
            System.out.println("hugetlbfs left at " + folder + ": " + e);
        }
    }

    @Override
    public void close() {
        Runtime.getRuntime().removeShutdownHook(atEnd);
        undo();
    }
}
