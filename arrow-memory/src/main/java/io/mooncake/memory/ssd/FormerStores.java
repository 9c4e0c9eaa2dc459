// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What stores of other identities, of a former model for example, left below a path: it stays as long as there is room, since the model may
 * come back, and counts against the capacity that the stores of now share. A store that grows beyond that takes the files of the folder that was
 * written to longest ago, one by one from its end, so that what is left of it can be used again; without files the folder goes.
 *
 * <p>Only folders that are the same owner's by their owner file and that nobody has open are touched; nothing else below the path is.
 *
 * <p>Threading: safe for all threads.
 */
public final class FormerStores {
    private static final Logger LOG = LoggerFactory.getLogger(FormerStores.class);
    private static final String SEGMENT = "segment";

    private final Path path;
    private final String owner;
    private final long capacityBytes;
    private final Set<Path> current = new HashSet<>();

    private FormerStores(Path path, String owner, long capacityBytes) {
        this.path = path;
        this.owner = owner;
        this.capacityBytes = capacityBytes;
    }

    /**
     * The folders below the path of {@code stores} that are none of theirs.
     *
     * @param stores all stores that the owner has on this path now, at least one, of one path and owner
     * @param capacityBytes most bytes of records there, former ones included
     */
    public static FormerStores besides(List<SsdSettings> stores, long capacityBytes) {
        FormerStores formers =
                new FormerStores(stores.get(0).path(), stores.get(0).owner(), capacityBytes);
        stores.forEach(store -> formers.current.add(FileDevice.folder(store)));
        return formers;
    }

    /** A folder and what is in its segments. */
    private record Former(Path folder, long bytes, FileTime written) {}

    /** Bytes of records in former folders. */
    public synchronized long bytes() {
        try {
            return formers().stream().mapToLong(Former::bytes).sum();
        } catch (IOException | UncheckedIOException e) {
            return 0;
        }
    }

    /**
     * Makes room for {@code bytes} more of records, as far as former folders can give it.
     *
     * @param diskFull whether the file system has no room, so that the bytes are needed whatever the capacity says
     */
    public synchronized void makeRoom(long bytes, boolean diskFull) {
        try {
            List<Former> formers = formers();
            long taken = formers.stream().mapToLong(Former::bytes).sum();
            if (taken == 0) {
                return;
            }
            long excess = diskFull ? bytes : taken + currentBytes() + bytes - capacityBytes;
            formers.sort(Comparator.comparing(Former::written));
            for (Former former : formers) {
                if (excess <= 0) {
                    return;
                }
                excess -= shorten(former, excess);
            }
        } catch (IOException | UncheckedIOException e) {
            LOG.warn("SSD path {}: what former models left can't be looked at: {}", path, e.toString());
        }
    }

    private long currentBytes() throws IOException {
        long bytes = 0;
        for (Path folder : current) {
            bytes += Files.isDirectory(folder) ? bytes(segments(folder)) : 0;
        }
        return bytes;
    }

    private List<Former> formers() throws IOException {
        List<Former> formers = new ArrayList<>();
        try (Stream<Path> folders = Files.list(path)) {
            for (Path folder : folders.toList()) {
                if (!current.contains(folder) && FileDevice.isOf(folder, owner)) {
                    formers.add(new Former(folder, bytes(segments(folder)), written(folder)));
                }
            }
        }
        return formers;
    }

    /** The last one first. */
    private static List<Path> segments(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> name(file).startsWith(SEGMENT))
                    .sorted(Comparator.comparingInt(FormerStores::nameLength)
                            .thenComparing(FormerStores::name)
                            .reversed())
                    .toList();
        }
    }

    private static String name(Path file) {
        return String.valueOf(file.getFileName());
    }

    private static int nameLength(Path file) {
        return name(file).length();
    }

    private static long bytes(List<Path> files) throws IOException {
        long bytes = 0;
        for (Path file : files) {
            bytes += Files.size(file);
        }
        return bytes;
    }

    /** When something in it was written to last. */
    private static FileTime written(Path folder) throws IOException {
        FileTime last = FileTime.fromMillis(0);
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                FileTime time = Files.getLastModifiedTime(file);
                last = time.compareTo(last) > 0 ? time : last;
            }
        }
        return last;
    }

    /** Deletes files until {@code bytes} are free; how many are. */
    private long shorten(Former former, long bytes) throws IOException {
        FileDevice.Claim claim = FileDevice.claim(former.folder);
        if (claim == null) {
            return 0; // somebody has it open
        }
        long freed = 0;
        try (claim) {
            List<Path> segments = segments(former.folder);
            int deleted = 0;
            while (deleted < segments.size() && freed < bytes) {
                Path segment = segments.get(deleted++);
                freed += Files.size(segment);
                Files.delete(segment);
            }
            boolean all = deleted == segments.size();
            LOG.info(
                    "SSD path {}: {} of {} bytes of {}, which no pool has any more, deleted for records of now",
                    path,
                    freed,
                    former.bytes,
                    former.folder.getFileName());
            if (all) {
                delete(former.folder);
            }
        }
        return freed;
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.deleteIfExists(file);
            }
        }
        Files.delete(folder);
    }
}
