// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Memory that lies in a file, so that processes of one machine can map it: its creator reads and writes, everybody else only reads.
 *
 * <p>The name carries the creator's process id and start time, for people, and 128 random bits, so that no name comes twice. The mode is
 * 0600. The creator holds a lock that the kernel drops when it dies: {@link #ownerAlive()} and {@link #removeOrphans} go by it. All pages
 * are allocated at creation, so that a full file system is an error there and never a signal later.
 *
 * <p>The folder lies in a memory file system: /dev/shm, or a mount of hugetlbfs, whose pages are 2 MiB or 1 GiB. There a file is whole pages,
 * so it may be longer than what was asked for.
 *
 * <p>Ownership: the caller owes a {@link #close()}, which unmaps and, at the creator, removes the file; others that map it keep the memory
 * until they close too. Threading: safe for all threads; nobody may touch the memory during or after close.
 */
public final class SharedFile implements AutoCloseable {
    /** Where shared memory is a file system on Linux. */
    public static final Path DEFAULT_FOLDER = Path.of("/dev/shm");

    private static final String PREFIX = "mooncake-";
    private static final Pattern NAME = Pattern.compile("mooncake-(\\d+)-(\\d+)-[0-9a-f]{32}\\.mem");
    private static final int ATTEMPTS = 8;
    private static final int EAGAIN = 11;
    private static final int ENOMEM = 12;
    private static final int ENOSPC = 28;
    private static final int ENOSYS = 38;
    private static final int ESTALE = 116;
    private static final long POLL_NANOS = 50_000;
    private static final long POPULATE_BYTES = 64L << 20;

    private final Path path;
    private final long address;
    private final long bytes;
    private final int descriptor;
    private final long device;
    private final long inode;
    private final boolean owner;
    private final AtomicBoolean closed = new AtomicBoolean();

    private SharedFile(Path path, long address, long bytes, int descriptor, long device, long inode, boolean owner) {
        this.path = path;
        this.address = address;
        this.bytes = bytes;
        this.descriptor = descriptor;
        this.device = device;
        this.inode = inode;
        this.owner = owner;
    }

    /**
     * Creates, allocates and maps a file of zeros for reading and writing.
     *
     * @param folder in a memory file system
     * @param wanted bytes, at least 1; {@link #bytes} has them rounded up to huge pages where the folder has such
     * @throws MooncakeException EXHAUSTED when the file system has no room; CONFIGURATION when the bridge or the folder can't be used
     */
    public static SharedFile create(Path folder, long wanted) {
        requireBridge();
        if (wanted < 1) {
            throw MooncakeException.invalid("shared file bytes", wanted, "at least 1");
        }
        long pageBytes = hugePageBytes(folder);
        long bytes = pageBytes == 0 ? wanted : roundUp(wanted, pageBytes);
        SecureRandom random = new SecureRandom();
        long error = 0;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            byte[] name = new byte[16];
            random.nextBytes(name);
            Path path = folder.resolve(PREFIX + ProcessHandle.current().pid() + "-"
                    + startTicks(ProcessHandle.current().pid()) + "-"
                    + HexFormat.of().formatHex(name) + ".mem");
            long[] made = NativeCalls.sharedCreate(path.toString(), bytes);
            if (made.length == 4) {
                return new SharedFile(path, made[0], bytes, (int) made[1], made[2], made[3], true);
            }
            error = -made[0];
            if (error != EAGAIN) {
                break;
            }
        }
        // hugetlbfs says ENOMEM where its pool of pages, and ENOSPC where the mount's limit, is used up.
        boolean noRoom = error == ENOSPC || (error == ENOMEM && pageBytes != 0);
        throw new MooncakeException(
                noRoom ? Code.EXHAUSTED : Code.CONFIGURATION,
                "shared memory of " + bytes + " bytes in " + folder + ": error " + error
                        + (noRoom ? ", no room" + pool(pageBytes) : "")
                        + " (expected: a memory file system with room)");
    }

    /** Size of the pages of the folder's files where they are huge ones, of hugetlbfs; else 0. */
    private static long hugePageBytes(Path folder) {
        try {
            FileStore store = Files.getFileStore(folder);
            return store.type().equals("hugetlbfs") ? store.getBlockSize() : 0;
        } catch (IOException | RuntimeException e) {
            // Creating the file says what is wrong with the folder.
            return 0;
        }
    }

    private static long roundUp(long bytes, long pageBytes) {
        if (bytes > Long.MAX_VALUE - pageBytes) {
            throw MooncakeException.invalid("shared file bytes", bytes, "what a machine can have");
        }
        return (bytes + pageBytes - 1) / pageBytes * pageBytes;
    }

    /** What the kernel has of such pages, for people. */
    private static String pool(long pageBytes) {
        for (HugePages pool : HugePages.pools()) {
            if (pool.pageBytes() == pageBytes) {
                return " (" + pool.free() + " of " + pool.total() + " huge pages of " + pageBytes + " bytes are free; "
                        + "vm.nr_hugepages sets how many there are, the mount's option size how many of them are its own)";
            }
        }
        return "";
    }

    /**
     * Maps somebody's file for reading.
     *
     * @param device of the file, as its creator sees it
     * @param inode of the file; another file under the name is refused
     * @throws MooncakeException NOT_FOUND when it can't be opened or is another one; CONFIGURATION without the bridge
     */
    public static SharedFile open(Path path, long device, long inode) {
        requireBridge();
        long[] found = NativeCalls.sharedOpen(path.toString(), device, inode);
        if (found.length != 3) {
            throw new MooncakeException(
                    Code.NOT_FOUND,
                    path + ": error " + -found[0] + (-found[0] == ESTALE ? ", another file has this name" : "")
                            + " (expected: the peer's shared memory; containers need a common /dev/shm)");
        }
        return new SharedFile(path, found[0], found[2], (int) found[1], device, inode, false);
    }

    /** Why {@code bytes} can't be shared through {@code folder}; empty when they can. A guess until the file is there. */
    public static String obstacle(Path folder, long bytes) {
        if (NativeBridge.availability() instanceof NativeBridge.Unavailable absent) {
            return "native bridge: " + absent.reason();
        }
        if (!Files.isDirectory(folder) || !Files.isWritable(folder)) {
            return folder + " is no folder that can be written";
        }
        try {
            long pageBytes = hugePageBytes(folder);
            if (pageBytes != 0) {
                // A mount without a limit of its own says 0: creating the file tells.
                return "";
            }
            long room = Files.getFileStore(folder).getUsableSpace();
            return room < bytes ? folder + " has room for " + room + " bytes (expected: " + bytes + ")" : "";
        } catch (IOException e) {
            return folder + ": " + e;
        }
    }

    /**
     * Removes the files of dead processes. Files of living ones, of other users and of other programs stay.
     *
     * @return how many were removed
     */
    public static int removeOrphans(Path folder) {
        if (!NativeBridge.available()) {
            return 0;
        }
        int removed = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, PREFIX + "*.mem")) {
            for (Path file : files) {
                Matcher name = NAME.matcher(String.valueOf(file.getFileName()));
                // The lock decides; the process is looked at as well, so that a fault in either keeps the file.
                if (name.matches()
                        && !name.group(2).equals(startTicks(Long.parseLong(name.group(1))))
                        && NativeCalls.sharedRemoveOrphan(file.toString()) == 1) {
                    removed++;
                }
            }
        } catch (IOException | RuntimeException e) {
            // No folder, nothing to clean.
            return removed;
        }
        return removed;
    }

    private static String startTicks(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            // The name in parentheses may hold anything; field 22 is the 20th behind it.
            return stat.substring(stat.lastIndexOf(')') + 2).split(" ")[19];
        } catch (IOException | RuntimeException e) {
            return "0";
        }
    }

    private static void requireBridge() {
        if (NativeBridge.availability() instanceof NativeBridge.Unavailable absent) {
            throw new MooncakeException(
                    Code.CONFIGURATION,
                    "shared memory: no native bridge, " + absent.reason() + " (expected: the bridge)");
        }
    }

    public Path path() {
        return path;
    }

    /** Where it is mapped here, page-aligned. */
    public long address() {
        return address;
    }

    public long bytes() {
        return bytes;
    }

    /** Device number of the file. */
    public long device() {
        return device;
    }

    /** Inode number of the file. */
    public long inode() {
        return inode;
    }

    /** Whether this process created it. */
    public boolean owner() {
        return owner;
    }

    /** Whether the creator still lives and has it open. One system call. */
    public boolean ownerAlive() {
        return owner || NativeCalls.sharedHeld(descriptor) != 0;
    }

    /** Maps every page now rather than at its first use. Where the kernel is too old it changes nothing. */
    public void populate() {
        for (long from = 0; from < bytes && !closed.get(); from += POPULATE_BYTES) {
            if (NativeCalls.sharedPopulate(address + from, Math.min(POPULATE_BYTES, bytes - from), owner) != 0) {
                return;
            }
        }
    }

    /**
     * Sleeps while the 32-bit word at {@code offset} holds {@code seen}, at most {@code nanos}. May return early; look at the word again.
     *
     * @param offset a multiple of 4 inside the file
     */
    public void awaitChange(long offset, int seen, long nanos) {
        int result = NativeCalls.sharedWait(address + requireWord(offset), seen, Math.max(1, nanos));
        if (result == -ENOSYS) {
            LockSupport.parkNanos(Math.min(nanos, POLL_NANOS));
        }
    }

    /** Wakes who sleeps on the word at {@code offset}, in whatever process. One system call. */
    public void wake(long offset) {
        NativeCalls.sharedWake(address + requireWord(offset));
    }

    private long requireWord(long offset) {
        if (offset < 0 || (offset & 3) != 0 || offset > bytes - Integer.BYTES) {
            throw MooncakeException.invalid("word", offset, "a multiple of 4 below " + bytes);
        }
        return offset;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            if (owner) {
                try {
                    Files.deleteIfExists(path);
                } catch (IOException e) {
                    // The next start removes it: its lock goes now.
                }
            }
            NativeCalls.sharedClose(address, bytes, descriptor);
        }
    }

    @Override
    public String toString() {
        return path + " of " + bytes + " bytes";
    }
}
