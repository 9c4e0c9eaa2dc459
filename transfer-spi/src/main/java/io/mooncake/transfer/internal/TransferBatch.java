// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.PublishedGuard;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.topology.RailNumber;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
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
    private int tcpRails = Region.ANY_RAIL;
    private int rdmaRails = Region.ANY_RAIL;

    // Guarded by this. The arrays may be longer than the batch.
    private @Nullable TransferStatus[] statuses = new TransferStatus[0];
    private long[] missingBytes = NO_LONGS;
    private final ArrayDeque<Slice> returned = new ArrayDeque<>(0);

    private final ArrayDeque<Slice> aside = new ArrayDeque<>(0);
    private int nextRequest;
    private long nextOffset;
    private int openRequests;

    private long mappedBytes;
    /** Verified, by rail. */
    private final long[] railBytes = new long[RailNumber.COUNT];
    /** Of requests that have no status. */
    private long totalBytes;

    private long pendingBytes;

    /** Counts the times that workers were let in; a worker of an earlier time never gets in. */
    private long opening;

    private boolean open;
    private int workers;
    /** Workers that take part or have been called and may yet. */
    private int lanes = 1;

    /** For slices whose local end lies on a device; null when none does. Set while no worker has the batch. */
    private volatile @Nullable Staging staging;
    /** Whether the transport at work gives device addresses to a card that reaches them. */
    private volatile boolean cardAtWork;

    private volatile boolean starved;

    /** A part of a request; mutable and reused by the connection that works on it. */
    public static final class Slice {
        private int request;
        private long offset;
        private int length;
        private @Nullable RemoteHandle handle;
        private long localAddress;
        /** The local end proper, where it lies on a device and the slice is staged; else 0. */
        private long deviceAddress;

        private int rail;

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

        /** Where the bytes go or come from: memory that the CPU reaches, unless the transport said that its card reaches devices. */
        public long localAddress() {
            return localAddress;
        }

        /** Says by which rail it goes; else it counts as memory that both ends reach. */
        public void goesBy(int number) {
            rail = number;
        }

        private void copyFrom(Slice other) {
            request = other.request;
            offset = other.offset;
            length = other.length;
            handle = other.handle;
            localAddress = other.localAddress;
            deviceAddress = other.deviceAddress;
            rail = other.rail;
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
            int sharing) {
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
                sharing);
    }

    /**
     * Makes this another batch; no worker may have it. Allocates only when it has more requests than ever before.
     *
     * @param newSegmentLengths with {@code newChecksums}: bytes a checksum covers, for each request; null for raw transfers
     * @param newGenerationOffsets for leased reads: where each range's generation is published, as in the lease; null for raw transfers, whose
     *     handles only the owner can judge
     * @param newDeadlineNanos on {@link System#nanoTime()}
     * @param newDeadlineStatus what a request gets that is not done by then
     * @param sharing connections that will share the work
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
            int sharing) {
        write = newWrite;
        handles = newHandles;
        localAddresses = newLocalAddresses;
        sizes = newSizes;
        segmentLengths = newSegmentLengths;
        checksums = newChecksums;
        generationOffsets = newGenerationOffsets;
        deadlineNanos = newDeadlineNanos;
        deadlineStatus = newDeadlineStatus;
        prefer(Region.ANY_RAIL, Region.ANY_RAIL);
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
        totalBytes = total;
        pendingBytes = total;
        mappedBytes = 0;
        Arrays.fill(railBytes, 0);
        sliceBytes = sliceBytes(total, sharing);
    }

    private static int sliceBytes(long total, int sharing) {
        return (int) Math.max(MIN_SLICE_BYTES, Math.min(MAX_SLICE_BYTES, (total / sharing + 4095) & ~4095L));
    }

    /** Lets go of the caller's arrays. */
    public void clear() {
        reset(false, NO_HANDLES, NO_LONGS, NO_LONGS, null, null, null, 0, TransferStatus.TIMEOUT, 1);
    }

    public boolean write() {
        return write;
    }

    /** Says which rails are near the local memory, see {@link Region#prefer}. No worker may have the batch. */
    public void prefer(int tcp, int rdma) {
        tcpRails = tcp;
        rdmaRails = rdma;
    }

    /** Bits of the addresses of this engine to start from; others only when none of these works. */
    public int tcpRails() {
        return tcpRails;
    }

    /** Bits of the RDMA devices to use; others only when none of these works. */
    public int rdmaRails() {
        return rdmaRails;
    }

    /** Bytes of all requests. */
    public long totalBytes() {
        return totalBytes;
    }

    /** Whether every request is COMPLETED. */
    public synchronized boolean completed() {
        for (int i = 0; i < handles.length; i++) {
            if (statuses[i] != TransferStatus.COMPLETED) {
                return false;
            }
        }
        return true;
    }

    /** Bytes that are where they belong, of requests that failed too. */
    public synchronized long movedBytes() {
        long missing = 0;
        for (int i = 0; i < handles.length; i++) {
            missing += missingBytes[i];
        }
        return totalBytes - missing;
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
            end(request, status);
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
        } else {
            pendingBytes -= missingBytes[request];
        }
        statuses[request] = null;
        missingBytes[request] = sizes[request];
        pendingBytes += sizes[request];
        returned.removeIf(slice -> slice.request == request);
        aside.removeIf(slice -> slice.request == request);
        long from = request < nextRequest ? 0 : sizes[request];
        if (request == nextRequest) {
            nextOffset = 0;
        }
        while (from < sizes[request]) {
            Slice slice = new Slice();
            cut(request, from, slice, sliceBytes);
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

    /**
     * Takes the next slice into {@code slice}; false when there is none left to take, or when buffers for it are with slices under way:
     * a worker that has some asks again after each.
     */
    public boolean next(Slice slice) {
        return nextBelow(handles.length, slice);
    }

    /**
     * As {@link #next}, but leaves to the other workers what they will have moved sooner.
     *
     * @param outstanding bytes that this worker has taken and not finished
     * @param weight this worker's speed, in units of the mean of all
     * @param last whether this worker must see to it that nothing is left, and so always takes something
     */
    public boolean nextShare(Slice slice, long outstanding, double weight, boolean last) {
        while (takeShare(slice, outstanding, weight, last)) {
            Staged staged = stage(slice);
            if (staged != Staged.SKIPPED) {
                return staged == Staged.READY;
            }
        }
        return false;
    }

    private synchronized boolean takeShare(Slice slice, long outstanding, double weight, boolean last) {
        if (lanes <= 1) {
            return take(handles.length, slice, sliceBytes);
        }
        long share = (long) (pendingBytes * weight / lanes);
        if (share < MIN_SLICE_BYTES) {
            if (!last) {
                return false;
            }
            share = MIN_SLICE_BYTES;
        }
        long budget = share - outstanding;
        if (outstanding > 0 && budget < Math.min(MIN_SLICE_BYTES, share) / 2) {
            return false;
        }
        return take(handles.length, slice, (int) Math.min(sliceBytes, Math.max(budget, MIN_SLICE_BYTES / 2)));
    }

    /** As {@link #next}, of requests with an index below {@code end} only. */
    public boolean nextBelow(int end, Slice slice) {
        while (takeBelow(end, slice)) {
            Staged staged = stage(slice);
            if (staged != Staged.SKIPPED) {
                return staged == Staged.READY;
            }
        }
        return false;
    }

    private synchronized boolean takeBelow(int end, Slice slice) {
        return take(end, slice, sliceBytes);
    }

    private boolean take(int end, Slice slice, int most) {
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
            cut(nextRequest, nextOffset, slice, most);
            nextOffset += slice.length;
            return true;
        }
    }

    // ------------------------------------------------------------------------------------------------------ devices

    /** Sets what slices pass through whose local end lies on a device; null when none does. No worker may have the batch. */
    public void stageWith(@Nullable Staging through) {
        staging = through;
        cardAtWork = false;
        starved = false;
    }

    /** The transport's card reaches devices: from now on slices of raw requests carry device addresses where the card knows them. */
    public void cardReachesDevices(boolean reaches) {
        cardAtWork = reaches;
    }

    /** Whether there are requests whose local end lies on a device. */
    public boolean staged() {
        return staging != null;
    }

    /** Whether the request's slices pass through memory of the host, though their local end lies on a device. */
    public boolean staged(int request) {
        Staging through = staging;
        return through != null && passesHost(through, request);
    }

    /** Copies that are verified pass through memory of the host in any case: the CPU must see them. */
    private boolean passesHost(Staging through, int request) {
        return through.onDevice(request) && !(cardAtWork && !verified() && through.direct(request));
    }

    /**
     * Takes the buffers that slices will pass through, if any will, and waits for them until the deadline. Who moves a batch calls this first
     * of all: what it took before, a connection for example, others would wait for that have the buffers.
     *
     * @return false: there were none in time, and the batch has ended
     */
    public boolean reserveBuffers() {
        Staging through = staging;
        for (int i = 0; through != null && i < handles.length; i++) {
            if (passesHost(through, i) && status(i) == null) {
                return through.reserve() || starve();
            }
        }
        return true;
    }

    /**
     * Waits until a slice can pass through a buffer, if any has to; before its worker takes what others wait for.
     *
     * @param holdsNone whether the worker has no slice under way, and so nothing to do meanwhile; else it does not wait
     * @return false: not now, or the batch has ended
     */
    public boolean awaitBuffer(boolean holdsNone) {
        Staging through = staging;
        if (through == null) {
            return true;
        }
        return holdsNone ? through.awaitFree() || starve() : through.hasFree();
    }

    private boolean starve() {
        starved = true;
        boolean late = System.nanoTime() - deadlineNanos >= 0;
        TransferStatus cut = late ? deadlineStatus : TransferStatus.PEER_UNREACHABLE;
        abort(Thread.currentThread().isInterrupted() ? TransferStatus.CANCELED : cut);
        return false;
    }

    /** Whether it ended for want of buffers, and so says nothing about the peer. */
    public boolean starved() {
        return starved;
    }

    /** What a card has written to devices becomes visible there; a request whose device fails then is not completed. */
    public void flushDevices() {
        Staging through = staging;
        for (int i = 0; through != null && !write && i < handles.length; i++) {
            if (status(i) == TransferStatus.COMPLETED
                    && through.onDevice(i)
                    && !passesHost(through, i)
                    && !through.flush(i)) {
                revoke(i, TransferStatus.DEVICE_FAILED);
            }
        }
    }

    /** Bytes of the request's largest slice. */
    public int largestSlice(int request) {
        return (int) Math.min(sliceLength(request, sliceBytes), sizes[request]);
    }

    private enum Staged {
        READY,
        /** No buffer is free; the slice was given back. */
        LATER,
        /** Its request has ended. */
        SKIPPED
    }

    /** Moves the local end of a slice that was just taken to memory of the host, where it lies on a device. */
    private Staged stage(Slice slice) {
        Staging through = staging;
        if (through == null || !passesHost(through, slice.request)) {
            return Staged.READY;
        }
        long buffer = through.acquire(slice.length);
        if (buffer == 0) {
            giveBack(slice);
            return Staged.LATER;
        }
        slice.deviceAddress = slice.localAddress;
        slice.localAddress = buffer;
        if (status(slice.request) != null) {
            unstage(slice);
            return Staged.SKIPPED;
        }
        if (write && !through.fromDevice(slice.request, slice.deviceAddress, buffer, slice.length)) {
            failed(slice, TransferStatus.DEVICE_FAILED);
            return Staged.SKIPPED;
        }
        return Staged.READY;
    }

    /** The buffer of a slice, if it has one, is free; its local end is the device again. */
    private void unstage(Slice slice) {
        Staging through = staging;
        if (slice.deviceAddress != 0 && through != null) {
            through.release(slice.localAddress);
            slice.localAddress = slice.deviceAddress;
            slice.deviceAddress = 0;
        }
    }

    /** Whether bytes that arrived for the device are there; of a request that has ended, nothing is copied. */
    private boolean reachedDevice(Slice slice) {
        Staging through = staging;
        return slice.deviceAddress == 0
                || write
                || through == null
                || status(slice.request) != null
                || through.toDevice(slice.request, slice.localAddress, slice.deviceAddress, slice.length);
    }

    private void cut(int request, long from, Slice slice, int most) {
        slice.request = request;
        slice.offset = from;
        slice.length = (int) Math.min(sliceLength(request, most), sizes[request] - from);
        slice.handle = handles[request];
        slice.localAddress = localAddresses[request] + from;
        slice.deviceAddress = 0;
        slice.rail = RailNumber.MEMORY;
    }

    private int sliceLength(int request, int most) {
        if (segmentLengths == null) {
            return most;
        }
        int segment = segmentLengths[request];
        return segment >= most ? segment : most / segment * segment;
    }

    /** All bytes of {@code slice} are where they belong; {@code crc} is the worker's own. Whether they are what was expected. */
    public boolean arrived(Slice slice, CRC32C crc) {
        return arrived(slice, crc, null);
    }

    /** As above, without a new view of the bytes. */
    public boolean arrived(Slice slice, CRC32C crc, @Nullable MovingView view) {
        if (!matches(slice, crc, view)) {
            failed(slice, TransferStatus.CHECKSUM);
            return false;
        }
        verified(slice);
        return true;
    }

    /** As {@link #arrived}, by a worker that has verified the slice itself. */
    public void verified(Slice slice) {
        if (!reachedDevice(slice)) {
            failed(slice, TransferStatus.DEVICE_FAILED);
            return;
        }
        unstage(slice);
        complete(slice);
    }

    private synchronized void complete(Slice slice) {
        missingBytes[slice.request] -= slice.length;
        railBytes[slice.rail] += slice.length;
        if (statuses[slice.request] == null) {
            pendingBytes -= slice.length;
        }
        if (missingBytes[slice.request] == 0 && statuses[slice.request] == null) {
            end(slice.request, TransferStatus.COMPLETED);
        }
    }

    private boolean matches(Slice slice, CRC32C crc, @Nullable MovingView view) {
        if (checksums == null || segmentLengths == null) {
            return true;
        }
        int segment = segmentLengths[slice.request];
        int[] expected = checksums[slice.request];
        ByteBuffer copy = view == null
                ? DirectViews.view(slice.localAddress, slice.length)
                : view.at(slice.localAddress, slice.length);
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
        unstage(slice);
        if (statuses[slice.request] == null) {
            end(slice.request, status);
        }
    }

    /** Gives an unfinished slice back for another connection. */
    public synchronized void giveBack(Slice slice) {
        unstage(slice);
        Slice copy = new Slice();
        copy.copyFrom(slice);
        returned.add(copy);
        notifyAll();
    }

    /** As {@link #verified}, of bytes that were copied out of the owner's mapped memory; whether every request has its status now. */
    public boolean copied(Slice slice) {
        if (!reachedDevice(slice)) {
            failed(slice, TransferStatus.DEVICE_FAILED);
            return done();
        }
        unstage(slice);
        synchronized (this) {
            mappedBytes += slice.length;
            complete(slice);
            return openRequests == 0;
        }
    }

    /** A slice that was verified has come without the owner's program, which is told how much when the lease is released. */
    public synchronized void unseenByOwner(Slice slice) {
        mappedBytes += slice.length;
    }

    /** Bytes that came without the owner's program; call it when the transport has returned. */
    public long copiedBytes() {
        return mappedBytes;
    }

    /** Bytes that arrived over a rail, by its {@link RailNumber}; call it when the transport has returned. */
    public synchronized long railBytes(int rail) {
        return railBytes[rail];
    }

    /** Keeps a slice for another transport; {@link #bringBack} offers it again. */
    public synchronized void setAside(Slice slice) {
        unstage(slice);
        Slice copy = new Slice();
        copy.copyFrom(slice);
        aside.add(copy);
    }

    /** Offers again what was set aside. */
    public synchronized void bringBack() {
        // Not by addAll, which makes an object.
        while (!aside.isEmpty()) {
            returned.add(aside.remove());
        }
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
        pendingBytes -= missingBytes[request];
    }

    // ------------------------------------------------------------------------------------------------------ workers

    /** Bytes of requests that have no status. */
    public synchronized long pendingBytes() {
        return pendingBytes;
    }

    /** Workers that have joined and not left. */
    public synchronized int workers() {
        return workers;
    }

    /** Bytes of a usual slice. */
    public int sliceBytes() {
        return sliceBytes;
    }

    /** Lets workers in; what they are given to {@link #join} with. */
    public synchronized long open(int sharing) {
        open = true;
        lanes = 1;
        sliceBytes = sliceBytes(pendingBytes, sharing);
        return ++opening;
    }

    /** One more worker has been called, who will {@link #join} or {@link #decline}. */
    public synchronized void called() {
        lanes++;
    }

    /** A worker who was called does not come. */
    public synchronized void decline(long time) {
        if (open && time == opening) {
            lanes--;
        }
    }

    /** Whether a worker who was called may take slices; then it must {@link #leave}. */
    public synchronized boolean join(long time) {
        if (!open || time != opening) {
            return false;
        }
        workers++;
        return true;
    }

    /** The worker has no slice any more and touches no memory of the batch. */
    public synchronized void leave() {
        workers--;
        lanes--;
        notifyAll();
    }

    /**
     * Waits until a slice has been given back, or all workers have left. Workers' channels end at the deadline, which bounds the wait; an
     * interrupt is kept for later.
     *
     * @return whether a slice was given back
     */
    public synchronized boolean awaitWork() {
        boolean interrupted = false;
        while (workers > 0 && returned.isEmpty()) {
            interrupted |= awaitChange();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return !returned.isEmpty();
    }

    /** Lets nobody in any more and waits until all workers have left. */
    public synchronized void close() {
        open = false;
        boolean interrupted = false;
        while (workers > 0) {
            interrupted |= awaitChange();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean awaitChange() {
        try {
            wait();
            return false;
        } catch (InterruptedException e) {
            return true;
        }
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
