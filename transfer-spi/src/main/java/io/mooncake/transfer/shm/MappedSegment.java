// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.internal.RawMemory;

/** A peer's region as mapped here. Everything but {@link #uses} needs a use; the last one unmaps. */
final class MappedSegment {
    private final int region;
    private final MappedPage page;
    private final long idWord;
    private final SharedFile file;
    private final long address;
    private final long length;
    private final Uses uses;

    /**
     * @param page the owner's page, of which this takes over one use
     * @param idWord address of the region's id in it
     * @param fileOffset where the region starts in its file
     */
    MappedSegment(int region, MappedPage page, long idWord, SharedFile file, long fileOffset, long length) {
        this.region = region;
        this.page = page;
        this.idWord = idWord;
        this.file = file;
        this.address = file.address() + fileOffset;
        this.length = length;
        this.uses = new Uses(() -> {
            file.close();
            page.uses().release();
        });
    }

    int region() {
        return region;
    }

    Uses uses() {
        return uses;
    }

    /** Where the region starts here. */
    long address() {
        return address;
    }

    boolean containsRange(long offset, long bytes) {
        return offset >= 0 && bytes >= 1 && bytes <= length && offset <= length - bytes;
    }

    /** Whether the owner has it registered now. */
    boolean registered() {
        return RawMemory.getLongVolatile(idWord) == region && page.open();
    }

    /** Whether the word at {@code wordOffset} of the region lies in the file and holds {@code generation} now. */
    boolean current(long wordOffset, long generation) {
        long at = address - file.address() + wordOffset;
        return at >= 0
                && at <= file.bytes() - Long.BYTES
                && (at & 7) == 0
                && RawMemory.getLongVolatile(file.address() + at) == generation;
    }

    /** Fills the page table, so that copies meet no page faults. */
    void populate() {
        if (uses.acquire()) {
            try {
                file.populate();
            } finally {
                uses.release();
            }
        }
    }
}
