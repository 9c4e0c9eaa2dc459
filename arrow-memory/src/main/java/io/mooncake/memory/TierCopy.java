// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.util.zip.CRC32C;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/**
 * Copies bytes of one buffer between tiers, in pieces, and adds them up while they are in memory of the host. One copy an object, for one
 * thread.
 */
final class TierCopy {
    /** Most bytes between two looks at the deadline. */
    static final long PIECE_BYTES = 8 << 20;

    private static final int BOUNCE_BYTES = 1 << 20;

    private final TierSpace from;
    private final TierSpace to;
    /** What GPU and SSD exchange bytes through; null without that tier. */
    private final @Nullable TierSpace host;

    private final CRC32C sum = new CRC32C();

    TierCopy(TierSpace from, TierSpace to, @Nullable TierSpace host) {
        this.from = from;
        this.to = to;
        this.host = host;
    }

    /**
     * Copies {@code bytes} from {@code source} in one tier to {@code address} in the other.
     *
     * @return their CRC32C; {@link PoolBuffer.Place#NO_CHECKSUM} within a tier
     * @throws MooncakeException EXHAUSTED when a device fails or the host's tier has no room to pass through; DEADLINE_EXCEEDED
     */
    long copy(long source, long address, long bytes, Deadline deadline) {
        for (long done = 0; done < bytes; done += PIECE_BYTES) {
            if (deadline.expired()) {
                throw new MooncakeException(
                        Code.DEADLINE_EXCEEDED,
                        "move to " + to.tier + ": " + done + " bytes copied (expected: " + bytes
                                + " before the deadline)");
            }
            copyPiece(source + done, address + done, Math.min(PIECE_BYTES, bytes - done));
        }
        return from == to ? PoolBuffer.Place.NO_CHECKSUM : sum.getValue();
    }

    private void copyPiece(long source, long address, long bytes) {
        if (from == to) {
            to.write(source, address, bytes);
        } else if (from.tier == MemoryTier.DRAM) {
            add(source, bytes);
            to.write(source, address, bytes);
        } else if (to.tier == MemoryTier.DRAM) {
            from.read(source, address, bytes);
            add(address, bytes);
        } else {
            copyThroughHost(source, address, bytes);
        }
    }

    private void copyThroughHost(long source, long address, long bytes) {
        TierSpace between = host;
        if (between == null) {
            throw MooncakeException.invalid("tier", MemoryTier.DRAM, "one this pool has, to pass through");
        }
        long piece = Math.min(bytes, BOUNCE_BYTES);
        long token = between.arena.allocate(piece);
        MemoryPool.requireRoom(between, piece, token);
        try {
            long bounce = between.arena.address(token);
            for (long done = 0; done < bytes; done += piece) {
                long length = Math.min(piece, bytes - done);
                from.read(source + done, bounce, length);
                add(bounce, length);
                to.write(bounce, address + done, length);
            }
        } finally {
            between.arena.free(token);
        }
    }

    private void add(long address, long bytes) {
        sum.update(MemoryUtil.directBuffer(address, (int) bytes));
    }
}
