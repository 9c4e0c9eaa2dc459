// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.PublishedGuard;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The requests of one call, cut into slices that connections take as they get free. A request with checksums is cut at segment borders,
 * and who received a slice verifies it while the bytes are still in the CPU's cache and other connections go on.
 *
 * <p>Threading: workers call {@link #next}, {@link #arrived} and the failure methods concurrently; all state is guarded by this. Verifying
 * runs outside of the lock. A request's status is written once: the first failure wins, COMPLETED is set when its last byte is verified.
 */
public final class TransferBatch {
    /** Largest slice, unless a segment is larger. */
    public static final int MAX_SLICE_BYTES = 1 << 20;

    private static final int MIN_SLICE_BYTES = 128 << 10;

    private static final RemoteHandle[] NO_HANDLES = new RemoteHandle[0];
    private static final long[] NO_LONGS = new long[0];

    // Written by the caller while no worker has the batch; handing it over is what publishes them.
    private boolean write;
    private RemoteHandle[] handles = NO_HANDLES;
    private long[] localAddresses = NO_LONGS;
    private long[] sizes = NO_LONGS;
    private int @Nullable [] segmentLengths;
    private int @Nullable [][] checksums;
    private long @Nullable [] generationOffsets;
    private long deadlineNanos;
    private TransferStatus deadlineStatus = TransferStatus.TIMEOUT;
    private int sliceBytes = MIN_SLICE_BYTES;

    // Guarded by this. The arrays may be longer than the batch.
    private @Nullable TransferStatus[] statuses = new TransferStatus[0];
    private long[] missingBytes = NO_LONGS;
    private final ArrayDeque<Slice> returned = new ArrayDeque<>(0);

    private final ArrayDeque<Slice> aside = new ArrayDeque<>(0);
    private int nextRequest;
    private long nextOffset;
    private int openRequests;

    private long mappedBytes;

    /** A part of a request; mutable and reused by the connection that works on it. */
    public static final class Slice {
        private int request;
        private long offset;
        private int length;
        private @Nullable RemoteHandle handle;
        private long localAddress;

        /** The remote range that it is a part of. */
        public RemoteHandle handle() {
            RemoteHandle present = handle;
            if (present == null) {
                throw new IllegalStateException("empty slice");
            }
            return present;
        }

        /** Index of the request in the batch. */
        public int request() {
            return request;
        }

        /** Bytes from the start of the handle's range. */
        public long offset() {
            return offset;
        }

        public int length() {
            return length;
        }

        /** Where the bytes go or come from. */
        public long localAddress() {
            return localAddress;
        }

        private void copyFrom(Slice other) {
            request = other.request;
            offset = other.offset;
            length = other.length;
            handle = other.handle;
            localAddress = other.localAddress;
        }
    }

    /** An empty batch, to be {@link #reset}. */
    public TransferBatch() {}

    /** A batch, see {@link #reset}. */
    public TransferBatch(
            boolean write,
            RemoteHandle[] handles,
            long[] localAddresses,
            long[] sizes,
            int @Nullable [] segmentLengths,
            int @Nullable [][] checksums,
            long @Nullable [] generationOffsets,
            long deadlineNanos,
            TransferStatus deadlineStatus,
            int lanes) {
        reset(
                write,
                handles,
                localAddresses,
                sizes,
                segmentLengths,
                checksums,
                generationOffsets,
                deadlineNanos,
                deadlineStatus,
                lanes);
    }

    /**
     * Makes this another batch; no worker may have it. Allocates only when it has more requests than ever before.
     *
     * @param newSegmentLengths with {@code newChecksums}: bytes a checksum covers, for each request; null for raw transfers
     * @param newGenerationOffsets for leased reads: where each range's generation is published, as in the lease; null for raw transfers, whose
     *     handles only the owner can judge
     * @param newDeadlineNanos on {@link System#nanoTime()}
     * @param newDeadlineStatus what a request gets that is not done by then
     * @param lanes connections that will share the work
     */
    public synchronized void reset(
            boolean newWrite,
            RemoteHandle[] newHandles,
            long[] newLocalAddresses,
            long[] newSizes,
            int @Nullable [] newSegmentLengths,
            int @Nullable [][] newChecksums,
            long @Nullable [] newGenerationOffsets,
            long newDeadlineNanos,
            TransferStatus newDeadlineStatus,
            int lanes) {
        write = newWrite;
        handles = newHandles;
        localAddresses = newLocalAddresses;
        sizes = newSizes;
        segmentLengths = newSegmentLengths;
        checksums = newChecksums;
        generationOffsets = newGenerationOffsets;
        deadlineNanos = newDeadlineNanos;
        deadlineStatus = newDeadlineStatus;
        int requests = newHandles.length;
        if (statuses.length < requests) {
            statuses = new TransferStatus[requests];
            missingBytes = new long[requests];
        }
        long total = 0;
        for (int i = 0; i < requests; i++) {
            statuses[i] = null;
            missingBytes[i] = newSizes[i];
            total += newSizes[i];
        }
        returned.clear();
        aside.clear();
        nextRequest = 0;
        nextOffset = 0;
        openRequests = requests;
        mappedBytes = 0;
        sliceBytes = (int) Math.max(MIN_SLICE_BYTES, Math.min(MAX_SLICE_BYTES, (total / lanes + 4095) & ~4095L));
    }

    /** Lets go of the caller's arrays. */
    public void clear() {
        reset(false, NO_HANDLES, NO_LONGS, NO_LONGS, null, null, null, 0, TransferStatus.TIMEOUT, 1);
    }

    public boolean write() {
        return write;
    }

    public long deadlineNanos() {
        return deadlineNanos;
    }

    /** What a request gets that is not done by the deadline. */
    public TransferStatus deadlineStatus() {
        return deadlineStatus;
    }

    /** Whether the owner granted the ranges to this engine itself, so that its word on them is known. */
    public boolean leased() {
        return generationOffsets != null;
    }

    /** Where the generation of the slice's range is published; only where {@link #leased}. */
    public long generationOffset(Slice slice) {
        return generationOffsets == null ? PublishedGuard.NOWHERE : generationOffsets[slice.request];
    }

    /** Requests of the batch. */
    public int requests() {
        return handles.length;
    }

    /** The remote range of a request. */
    public RemoteHandle handle(int request) {
        return handles[request];
    }

    /** Where a request's bytes go or come from. */
    public long localAddress(int request) {
        return localAddresses[request];
    }

    /** Bytes of a request. */
    public long size(int request) {
        return sizes[request];
    }

    /** The status that a request has by now, or null. */
    public synchronized @Nullable TransferStatus status(int request) {
        return statuses[request];
    }

    /**
     * The request ends with {@code status}, even when it was COMPLETED: for transports whose owner is asked only after the bytes have
     * arrived.
     */
    public synchronized void revoke(int request, TransferStatus status) {
        if (statuses[request] == null) {
            openRequests--;
        }
        statuses[request] = status;
    }

    /**
     * The request has no status any more, and all of it is to be moved: a transport ended it for a reason of its own, and another is to
     * try. No worker may have a slice of the batch.
     */
    public synchronized void reopen(int request) {
        if (statuses[request] != null) {
            openRequests++;
        }
        statuses[request] = null;
        missingBytes[request] = sizes[request];
        returned.removeIf(slice -> slice.request == request);
        aside.removeIf(slice -> slice.request == request);
        long from = request < nextRequest ? 0 : sizes[request];
        if (request == nextRequest) {
            nextOffset = 0;
        }
        while (from < sizes[request]) {
            Slice slice = new Slice();
            cut(request, from, slice);
            returned.add(slice);
            from += slice.length;
        }
    }

    /** Whether copies are compared with checksums. */
    public boolean verified() {
        return checksums != null;
    }

    /** Bytes a checksum of the slice's request covers, or 0 where there are none; slices start and end at such borders. */
    public int segmentLength(Slice slice) {
        return checksums == null || segmentLengths == null ? 0 : segmentLengths[slice.request];
    }

    /** The checksum of the segment that starts {@code from} bytes into the slice. */
    public int checksum(Slice slice, int from) {
        if (checksums == null || segmentLengths == null) {
            throw new IllegalStateException("no checksums");
        }
        return checksums[slice.request][(int) ((slice.offset + from) / segmentLengths[slice.request])];
    }

    /** About how many slices there are. */
    public int slices() {
        long slices = 0;
        for (long size : sizes) {
            slices += (size + sliceBytes - 1) / sliceBytes;
        }
        return (int) Math.min(Integer.MAX_VALUE, slices);
    }

    /** Takes the next slice into {@code slice}; false when there is none left to take. */
    public boolean next(Slice slice) {
        return nextBelow(handles.length, slice);
    }

    /** As {@link #next}, of requests with an index below {@code end} only. */
    public synchronized boolean nextBelow(int end, Slice slice) {
        for (int left = returned.size(); left > 0; left--) {
            Slice again = returned.poll();
            if (again != null && statuses[again.request] == null) {
                if (again.request < end) {
                    slice.copyFrom(again);
                    return true;
                }
                returned.add(again);
            }
        }
        while (true) {
            if (nextRequest >= end) {
                return false;
            }
            if (statuses[nextRequest] != null || nextOffset == sizes[nextRequest]) {
                nextRequest++;
                nextOffset = 0;
                continue;
            }
            cut(nextRequest, nextOffset, slice);
            nextOffset += slice.length;
            return true;
        }
    }

    private void cut(int request, long from, Slice slice) {
        slice.request = request;
        slice.offset = from;
        slice.length = (int) Math.min(sliceLength(request), sizes[request] - from);
        slice.handle = handles[request];
        slice.localAddress = localAddresses[request] + from;
    }

    private int sliceLength(int request) {
        if (segmentLengths == null) {
            return sliceBytes;
        }
        int segment = segmentLengths[request];
        return segment >= sliceBytes ? segment : sliceBytes / segment * segment;
    }

    /** All bytes of {@code slice} are where they belong; {@code crc} is the worker's own. Whether they are what was expected. */
    public boolean arrived(Slice slice, CRC32C crc) {
        if (!matches(slice, crc)) {
            failed(slice, TransferStatus.CHECKSUM);
            return false;
        }
        verified(slice);
        return true;
    }

    /** As {@link #arrived}, by a worker that has verified the slice itself. */
    public synchronized void verified(Slice slice) {
        missingBytes[slice.request] -= slice.length;
        if (missingBytes[slice.request] == 0 && statuses[slice.request] == null) {
            end(slice.request, TransferStatus.COMPLETED);
        }
    }

    private boolean matches(Slice slice, CRC32C crc) {
        if (checksums == null || segmentLengths == null) {
            return true;
        }
        int segment = segmentLengths[slice.request];
        int[] expected = checksums[slice.request];
        ByteBuffer copy = DirectViews.view(slice.localAddress, slice.length);
        for (int from = 0; from < slice.length; from += segment) {
            crc.reset();
            crc.update(copy.limit(from + segment).position(from));
            if ((int) crc.getValue() != expected[(int) ((slice.offset + from) / segment)]) {
                return false;
            }
        }
        return true;
    }

    /** The slice's request ends with {@code status}. */
    public synchronized void failed(Slice slice, TransferStatus status) {
        if (statuses[slice.request] == null) {
            end(slice.request, status);
        }
    }

    /** Gives an unfinished slice back for another connection. */
    public synchronized void giveBack(Slice slice) {
        Slice copy = new Slice();
        copy.copyFrom(slice);
        returned.add(copy);
    }

    /** As {@link #verified}, of bytes that were copied out of the owner's mapped memory. */
    public synchronized void copied(Slice slice) {
        mappedBytes += slice.length;
        verified(slice);
    }

    /** Bytes that came by {@link #copied}. */
    public synchronized long copiedBytes() {
        return mappedBytes;
    }

    /** Keeps a slice for another transport; {@link #bringBack} offers it again. */
    public synchronized void setAside(Slice slice) {
        Slice copy = new Slice();
        copy.copyFrom(slice);
        aside.add(copy);
    }

    /** Offers again what was set aside. */
    public synchronized void bringBack() {
        returned.addAll(aside);
        aside.clear();
    }

    /** Every request that has no status yet ends with {@code status}. */
    public synchronized void abort(TransferStatus status) {
        for (int i = 0; i < handles.length; i++) {
            if (statuses[i] == null) {
                end(i, status);
            }
        }
    }

    /** Whether every request has its status. */
    public synchronized boolean done() {
        return openRequests == 0;
    }

    private void end(int request, TransferStatus status) {
        statuses[request] = status;
        openRequests--;
    }

    /** The outcome; call it when the transport has returned. */
    public synchronized TransferStatus[] statuses() {
        TransferStatus[] result = new TransferStatus[handles.length];
        statuses(result);
        return result;
    }

    /** As {@link #statuses()}, into the caller's array. */
    public synchronized void statuses(TransferStatus[] into) {
        for (int i = 0; i < handles.length; i++) {
            TransferStatus status = statuses[i];
            into[i] = status == null ? TransferStatus.CANCELED : status;
        }
    }

    /** Whether a request ended so. */
    public synchronized boolean has(TransferStatus status) {
        for (int i = 0; i < handles.length; i++) {
            if (statuses[i] == status) {
                return true;
            }
        }
        return false;
    }
}
