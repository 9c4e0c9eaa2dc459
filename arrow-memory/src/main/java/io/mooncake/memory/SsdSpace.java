// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import com.sun.nio.file.ExtendedOpenOption;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockArena;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * The SSD tier: one file without a name, read and written by direct I/O where the file system takes it. What is in it ends with the process;
 * blocks that have a name and outlive a restart are the business of {@code io.mooncake.memory.ssd}.
 */
final class SsdSpace extends TierSpace {
    private static final int PIECE_BYTES = 8 << 20;

    private final Path folder;
    private final FileChannel file;
    private final boolean direct;

    private SsdSpace(Path folder, FileChannel file, boolean direct, long bytes) {
        super(MemoryTier.SSD, new BlockArena("SSD", 0, bytes));
        this.folder = folder;
        this.file = file;
        this.direct = direct;
    }

    /**
     * Makes the file in {@code folder}.
     *
     * @throws MooncakeException CONFIGURATION when the folder is missing, can't be written or has not got that many bytes free
     */
    static SsdSpace open(Path folder, long bytes) {
        if (!Files.isDirectory(folder)) {
            throw new MooncakeException(Code.CONFIGURATION, "ssdPath: " + folder + " (expected: a directory)");
        }
        try {
            long free = Files.getFileStore(folder).getUsableSpace();
            if (bytes > free) {
                throw new MooncakeException(
                        Code.CONFIGURATION,
                        "ssdBytes: " + bytes + " (expected: at most " + free + ", what " + folder + " has free)");
            }
            Path name = Files.createTempFile(folder, "mooncake-", ".tier");
            try {
                return open(folder, name, bytes);
            } finally {
                // The open file stays; its space is back when this process ends, however it ends.
                Files.delete(name);
            }
        } catch (IOException e) {
            throw new MooncakeException(
                    Code.CONFIGURATION, "ssdPath: " + folder + ": " + e + " (expected: a directory to write in)", e);
        }
    }

    private static SsdSpace open(Path folder, Path name, long bytes) throws IOException {
        try {
            return new SsdSpace(folder, open(name, ExtendedOpenOption.DIRECT), true, bytes);
        } catch (IOException | UnsupportedOperationException e) {
            return new SsdSpace(folder, open(name), false, bytes);
        }
    }

    private static FileChannel open(Path name, OpenOption... more) throws IOException {
        Set<OpenOption> options = new java.util.HashSet<>(Set.of(more));
        options.add(StandardOpenOption.READ);
        options.add(StandardOpenOption.WRITE);
        return FileChannel.open(name, options);
    }

    String describe() {
        return "a file in " + folder + (direct ? ", direct I/O" : ", WITHOUT direct I/O: the file system refuses it");
    }

    @Override
    void read(long address, long hostAddress, long bytes) {
        try {
            long pages = wholePages(bytes);
            for (long done = 0; done < pages; ) {
                ByteBuffer piece = piece(hostAddress, done, pages);
                int count = file.read(piece, address + done);
                if (count <= 0) {
                    throw new IOException("ends after " + done + " of " + pages + " bytes");
                }
                done += count;
            }
        } catch (IOException e) {
            throw failed("read", address, bytes, e);
        }
    }

    @Override
    void write(long hostAddress, long address, long bytes) {
        try {
            long pages = wholePages(bytes);
            for (long done = 0; done < pages; ) {
                done += file.write(piece(hostAddress, done, pages), address + done);
            }
        } catch (IOException e) {
            throw failed("write", address, bytes, e);
        }
    }

    private static ByteBuffer piece(long hostAddress, long done, long bytes) {
        return MemoryUtil.directBuffer(hostAddress + done, (int) Math.min(PIECE_BYTES, bytes - done));
    }

    /** Blocks of all tiers are whole pages, so there is room for the rest of the last one. */
    private static long wholePages(long bytes) {
        return (bytes + BlockArena.PAGE_BYTES - 1) & -BlockArena.PAGE_BYTES;
    }

    private MooncakeException failed(String what, long address, long bytes, IOException e) {
        return new MooncakeException(
                Code.EXHAUSTED,
                "SSD " + what + " of " + bytes + " bytes at " + address + " in " + folder + ": " + e.getMessage()
                        + " (expected: a device that works and has room)",
                e);
    }

    @Override
    public void close() {
        try {
            file.close();
        } catch (IOException e) {
            throw new MooncakeException(Code.INTERNAL, "ssdPath: " + folder + ": close: " + e.getMessage(), e);
        }
    }
}
