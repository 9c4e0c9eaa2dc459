// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What an {@link SsdStore} needs to open.
 *
 * @param path an existing folder that can be written; the store keeps to a folder of its own in it, named by the identity
 * @param owner name of the node whose blocks these are, 1..255 bytes of UTF-8; a store of another owner is refused
 * @param identityDigest SHA-256 of what decides the meaning of the blocks' bytes, 64 hexadecimal digits; it is part of every checksum
 * @param recordBytes bytes of a block, header and payload, a multiple of 4096 up to 1 GiB
 * @param capacityBytes most bytes of records, at least one record
 * @param segmentBytes size of one preallocated file, 4 KiB..1 TiB; at least one record goes into each
 * @param ioThreads reads and writes at once, 1..64
 * @param queueRecords operations that may wait, reads and writes each, 1..65536
 * @param commitMillis shortest time between two group commits, 0..10,000
 * @param maxUsePercent of the file system, above which it is not filled, 1..99
 * @param scrubBytesPerSecond how fast records are read and verified in the background; 0: never
 * @param maxErrors failed reads, or writes, within a minute after which the store takes itself out, or pauses writing, 1..1,000,000
 * @param maxDamaged damaged records within a minute after which it takes itself out, 1..1,000,000
 * @param stallMillis time after which a read or write counts as failed, 10..600,000
 * @param retryMillis time after which room is looked for again, and a paused write tried, 10..600,000
 */
public record SsdSettings(
        Path path,
        String owner,
        String identityDigest,
        int recordBytes,
        long capacityBytes,
        long segmentBytes,
        int ioThreads,
        int queueRecords,
        long commitMillis,
        int maxUsePercent,
        long scrubBytesPerSecond,
        int maxErrors,
        int maxDamaged,
        long stallMillis,
        long retryMillis) {
    /** Alignment of records, their memory and their length. */
    public static final int ALIGNMENT = 4096;

    static final int MAX_RECORD_BYTES = 1 << 30;
    static final int MAX_SLOTS = 1 << 24;
    static final int MAX_OWNER_BYTES = 255;

    public SsdSettings {
        List<String> wrong = new ArrayList<>();
        range(wrong, "ssd owner bytes", owner.getBytes(StandardCharsets.UTF_8).length, 1, MAX_OWNER_BYTES);
        if (!identityDigest.matches("[0-9a-f]{64}")) {
            wrong.add("ssd identity: " + identityDigest + " (expected: 64 lower-case hexadecimal digits)");
        }
        if (recordBytes < ALIGNMENT || recordBytes > MAX_RECORD_BYTES || recordBytes % ALIGNMENT != 0) {
            wrong.add("ssd record bytes: " + recordBytes + " (expected: a multiple of " + ALIGNMENT + ", " + ALIGNMENT
                    + ".." + MAX_RECORD_BYTES + ")");
        } else {
            range(wrong, "ssd capacity bytes", capacityBytes, recordBytes, (long) recordBytes * MAX_SLOTS);
        }
        range(wrong, "ssd segment bytes", segmentBytes, ALIGNMENT, 1L << 40);
        range(wrong, "ssd I/O threads", ioThreads, 1, 64);
        range(wrong, "ssd queue records", queueRecords, 1, 65_536);
        range(wrong, "ssd commit millis", commitMillis, 0, 10_000);
        range(wrong, "ssd max use percent", maxUsePercent, 1, 99);
        range(wrong, "ssd scrub bytes per second", scrubBytesPerSecond, 0, 1L << 40);
        range(wrong, "ssd max errors", maxErrors, 1, 1_000_000);
        range(wrong, "ssd max damaged", maxDamaged, 1, 1_000_000);
        range(wrong, "ssd stall millis", stallMillis, 10, 600_000);
        range(wrong, "ssd retry millis", retryMillis, 10, 600_000);
        if (!wrong.isEmpty()) {
            throw new MooncakeException(Code.CONFIGURATION, String.join("; ", wrong));
        }
    }

    private static void range(List<String> wrong, String name, long value, long min, long max) {
        if (value < min || value > max) {
            wrong.add(name + ": " + value + " (expected: " + min + ".." + max + ")");
        }
    }

    /** Slots that fit the capacity. */
    int slots() {
        return (int) (capacityBytes / recordBytes);
    }

    /** Slots of one segment. */
    int segmentSlots() {
        return (int) Math.max(1, Math.min(segmentBytes / recordBytes, MAX_SLOTS));
    }

    /** Starts settings with the defaults of {@link Builder}. */
    public static Builder builder(Path path, String owner, String identityDigest, int recordBytes, long capacityBytes) {
        return new Builder(path, owner, identityDigest, recordBytes, capacityBytes);
    }

    /**
     * Collects settings. Defaults: segments of 256 MiB, 4 I/O threads, queues of 64 records, commits 50 ms apart, 95 % of the file system,
     * 32 MiB/s of scrubbing, 8 errors or 64 damaged records a minute, stalls from 10 s, a retry every 10 s.
     */
    public static final class Builder {
        private final Path path;
        private final String owner;
        private final String identityDigest;
        private final int recordBytes;
        private final long capacityBytes;
        private long segmentBytes = 256L << 20;
        private int ioThreads = 4;
        private int queueRecords = 64;
        private long commitMillis = 50;
        private int maxUsePercent = DiskSpace.MAX_USE_PERCENT;
        private long scrubBytesPerSecond = 32L << 20;
        private int maxErrors = 8;
        private int maxDamaged = 64;
        private long stallMillis = 10_000;
        private long retryMillis = 10_000;

        private Builder(Path path, String owner, String identityDigest, int recordBytes, long capacityBytes) {
            this.path = path;
            this.owner = owner;
            this.identityDigest = identityDigest;
            this.recordBytes = recordBytes;
            this.capacityBytes = capacityBytes;
        }

        /** Size of one preallocated file. */
        public Builder segmentBytes(long value) {
            segmentBytes = value;
            return this;
        }

        /** Reads and writes at once. */
        public Builder ioThreads(int value) {
            ioThreads = value;
            return this;
        }

        /** Operations that may wait, reads and writes each. */
        public Builder queueRecords(int value) {
            queueRecords = value;
            return this;
        }

        /** Shortest time between two group commits. */
        public Builder commitMillis(long value) {
            commitMillis = value;
            return this;
        }

        /** Use of the file system above which it is not filled. */
        public Builder maxUsePercent(int value) {
            maxUsePercent = value;
            return this;
        }

        /** How fast records are verified in the background; 0: never. */
        public Builder scrubBytesPerSecond(long value) {
            scrubBytesPerSecond = value;
            return this;
        }

        /** Failed reads or writes within a minute that are too many. */
        public Builder maxErrors(int value) {
            maxErrors = value;
            return this;
        }

        /** Damaged records within a minute that are too many. */
        public Builder maxDamaged(int value) {
            maxDamaged = value;
            return this;
        }

        /** Time after which a read or write counts as failed. */
        public Builder stallMillis(long value) {
            stallMillis = value;
            return this;
        }

        /** Time after which room is looked for again, and a paused write tried. */
        public Builder retryMillis(long value) {
            retryMillis = value;
            return this;
        }

        /**
         * The settings.
         *
         * @throws MooncakeException CONFIGURATION with every violation
         */
        public SsdSettings build() {
            return new SsdSettings(
                    path,
                    owner,
                    identityDigest,
                    recordBytes,
                    capacityBytes,
                    segmentBytes,
                    ioThreads,
                    queueRecords,
                    commitMillis,
                    maxUsePercent,
                    scrubBytesPerSecond,
                    maxErrors,
                    maxDamaged,
                    stallMillis,
                    retryMillis);
        }
    }
}
