// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import static io.mooncake.transfer.shm.SharedPageDescriptor.MAX_PATH_BYTES;
import static io.mooncake.transfer.shm.SharedPageDescriptor.SLOTS;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.internal.RawMemory;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A peer's page as mapped here, read-only. Everything but {@link #uses} needs a use; the last one unmaps. */
final class MappedPage {
    private final SharedFile file;
    private final Uses uses;

    private final long revocations;

    private MappedPage(SharedFile file, long revocations) {
        this.file = file;
        this.revocations = revocations;
        this.uses = new Uses(file::close);
    }

    /**
     * Maps the page of {@code owner}.
     *
     * @param named where it is, and the owner's count of revocations when it still knew us
     * @throws MooncakeException NOT_FOUND when it isn't there or is not that engine's
     */
    static MappedPage open(ShmFrameDescriptor.Page named, UUID owner) {
        SharedFile file;
        try {
            file = SharedFile.open(Path.of(named.path()), named.device(), named.inode());
        } catch (InvalidPathException e) {
            throw new MooncakeException(Code.NOT_FOUND, "shared memory: the peer names no path", e);
        }
        long page = file.address();
        boolean sound = file.bytes() >= SharedPageDescriptor.BYTES
                && RawMemory.getLongVolatile(page) == SharedPageDescriptor.MAGIC
                && RawMemory.getLongVolatile(page + 8) == SharedPageDescriptor.VERSION
                && RawMemory.getLongVolatile(page + SharedPageDescriptor.INCARNATION) == owner.getMostSignificantBits()
                && RawMemory.getLongVolatile(page + SharedPageDescriptor.INCARNATION + 8)
                        == owner.getLeastSignificantBits();
        if (!sound) {
            file.close();
            throw new MooncakeException(Code.NOT_FOUND, named.path() + ": not the page of " + owner);
        }
        return new MappedPage(file, named.revocations());
    }

    Uses uses() {
        return uses;
    }

    SharedFile file() {
        return file;
    }

    byte[] token() {
        byte[] token = new byte[SharedPageDescriptor.TOKEN_BYTES];
        RawMemory.get(file.address() + SharedPageDescriptor.TOKEN, token);
        return token;
    }

    /** Whether the owner is open and has declared nobody gone since. */
    boolean open() {
        return RawMemory.getLongVolatile(file.address() + SharedPageDescriptor.STATE) == SharedPageDescriptor.OPEN
                && RawMemory.getLongVolatile(file.address() + SharedPageDescriptor.REVOCATIONS) == revocations;
    }

    /** Whether the owner lives and has not closed. One system call. */
    boolean ownerAlive() {
        return open() && file.ownerAlive();
    }

    /** Maps a region, or null when the owner does not share it. */
    @Nullable
    MappedSegment map(int region) {
        for (int i = 0; i < SLOTS; i++) {
            long slot = SharedPageDescriptor.slot(file.address(), i);
            if (RawMemory.getLongVolatile(slot) == region) {
                return map(region, slot);
            }
        }
        return null;
    }

    private @Nullable MappedSegment map(int region, long slot) {
        long fileOffset = RawMemory.getLongVolatile(slot + SharedPageDescriptor.SLOT_FILE_OFFSET);
        long length = RawMemory.getLongVolatile(slot + SharedPageDescriptor.SLOT_BYTES_OF_REGION);
        long device = RawMemory.getLongVolatile(slot + SharedPageDescriptor.SLOT_DEVICE);
        long inode = RawMemory.getLongVolatile(slot + SharedPageDescriptor.SLOT_INODE);
        long pathBytes = RawMemory.getLongVolatile(slot + SharedPageDescriptor.SLOT_PATH_BYTES);
        if (pathBytes < 1 || pathBytes > MAX_PATH_BYTES) {
            return null;
        }
        byte[] path = new byte[(int) pathBytes];
        RawMemory.get(slot + SharedPageDescriptor.SLOT_PATH, path);
        if (RawMemory.getLongVolatile(slot) != region || !uses.acquire()) {
            return null;
        }
        try {
            SharedFile mapped = SharedFile.open(Path.of(new String(path, StandardCharsets.UTF_8)), device, inode);
            if (fileOffset < 0 || length < 1 || length > mapped.bytes() || fileOffset > mapped.bytes() - length) {
                mapped.close();
                uses.release();
                return null;
            }
            return new MappedSegment(region, this, slot, mapped, fileOffset, length);
        } catch (MooncakeException | InvalidPathException e) {
            uses.release();
            return null;
        }
    }
}
