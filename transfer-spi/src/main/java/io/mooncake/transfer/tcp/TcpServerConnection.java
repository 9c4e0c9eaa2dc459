// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.AccessCheck;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.DeviceMemory;
import io.mooncake.transfer.internal.MovingView;
import io.mooncake.transfer.internal.RawMemory;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.tcp.TcpFrameDescriptor.Request;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The owner's end of a data connection, on a thread of its own.
 *
 * <p>Every access is checked before the first byte (region, range, rights, expiry, MAC, generation) and again after the last one, and the
 * trailer tells the reader the second outcome: memory that was recycled while it was being sent is known as such. A write is also checked
 * between pieces, and none is accepted after the handle's expiry: shortly before it bytes begin to pass through a buffer and are checked
 * when they have come. Where one that was begun earlier is then still waited for, the watchdog closes the channel. A peer that stops taking
 * bytes is cut likewise, so no thread stays inside a region for longer than {@link #MAX_STALL_NANOS}.
 */
final class TcpServerConnection extends WatchedChannel {
    /** A response must have been taken, and a write must have arrived, within this time. */
    static final long MAX_STALL_NANOS = 60_000_000_000L;

    /** How long an access waits for buffers that others have, where memory of a device passes through such. */
    private static final long MAX_DEVICE_WAIT_NANOS = 5_000_000_000L;

    /**
     * So long before the handle's expiry a write stops taking bytes right into the memory: they could come too late, and only closing the
     * channel would keep them out. From then on the writer is told that its handle has ended.
     */
    private static final long SOON_NANOS = 1_000_000_000L;

    private static final int BUFFERED_REQUESTS = 32;
    private static final int WRITE_PIECE_BYTES = 256 << 10;
    /** Payloads up to this are sent together with what is around them: a second system call costs more than copying them does. */
    private static final int INLINE_BYTES = 4096;

    private static final int DRAIN_BYTES = 64 << 10;

    private final OwnerSide owner;
    private final UUID peer;
    private final Capabilities.Verifier verifier;
    private final AccessCheck check;
    private final Counters counters;

    private final ByteBuffer in = direct(BUFFERED_REQUESTS * TcpFrameDescriptor.REQUEST_BYTES);
    private final ByteBuffer out =
            direct(2 * TcpFrameDescriptor.TRAILER_BYTES + TcpFrameDescriptor.RESPONSE_BYTES + INLINE_BYTES);
    private final MovingView view = new MovingView();
    private final ByteBuffer[] gather = new ByteBuffer[2];
    private final CRC32C crc = new CRC32C();
    private final Request request = new Request();
    private @Nullable ByteBuffer drain;
    private long sequence;
    /** Why the latest request was refused, or null. */
    private @Nullable RefusalCause refusal;
    /** Bytes of the payload of the write at hand that are off the stream. */
    private int taken;
    /** What the last check before a piece of it found, or null. */
    private @Nullable RefusalCause stopped;
    /** The region being touched now; written by this connection's thread, read by {@link #touches}. */
    private volatile @Nullable Region touching;
    /** The rest of the payload of the write at hand goes nowhere; written by this connection's thread. */
    private volatile boolean discarding;

    TcpServerConnection(OwnerSide owner, PeerChannel channel, UUID peer) {
        super(owner.watchdog(), channel);
        this.owner = owner;
        this.peer = peer;
        this.verifier = owner.capabilities().verifier();
        this.check = owner.check();
        this.counters = owner.counters();
    }

    private static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    UUID peer() {
        return peer;
    }

    boolean touches(Region region) {
        return touching == region;
    }

    /**
     * Whether bytes of a write that is granted no more may still arrive in the range. Asked by other threads: of a request that has just ended
     * it may see a part, and what it then says is true of the next one.
     */
    boolean mayStillWrite(Region region, long offset, long length) {
        if (touching != region || discarding || !request.claim.write) {
            return false;
        }
        long start = request.claim.start();
        return start < offset + length && offset < start + request.claim.length && ended(region) != null;
    }

    /** Serves until either side closes. */
    void serve() {
        watch();
        try (Turnstile.Visitor visitor = owner.turnstile().visitor(peer)) {
            in.limit(0);
            while (channel.isOpen()) {
                awaitRequest();
                if (!inOrder()) {
                    return;
                }
                sequence++;
                in.position(in.position() + TcpFrameDescriptor.REQUEST_BYTES);
                refusal = null;
                visitor.enter(request.length());
                try {
                    arm(System.nanoTime() + MAX_STALL_NANOS);
                    answer();
                } finally {
                    visitor.leave();
                }
                if (!disarm() || !behaves()) {
                    return;
                }
            }
        } catch (IOException e) {
            // The peer went away or was cut; it learns nothing more from us.
            return;
        } finally {
            unwatch();
            cut();
        }
    }

    /** Whether the next frame is a request, and the next one; where not, the connection is to end. */
    private boolean inOrder() {
        RefusalCause broken = null;
        if (!TcpFrameDescriptor.readRequest(in, in.position(), request, crc)) {
            broken = RefusalCause.MALFORMED;
        } else if (request.sequence != sequence + 1) {
            broken = RefusalCause.REPLAY;
        }
        if (broken == null) {
            return true;
        }
        counters.refused(broken);
        refusal = broken;
        behaves();
        return false;
    }

    /** What a refusal means for the peer; false when it is put out. The answer leaves after the pause. */
    private boolean behaves() {
        RefusalCause cause = refusal;
        return cause == null || owner.conduct().behaves(peer, cause);
    }

    /** Returns when {@code in} holds a whole request; sends what is pending before it waits. */
    private void awaitRequest() throws IOException {
        while (in.remaining() < TcpFrameDescriptor.REQUEST_BYTES) {
            if (out.position() > 0) {
                arm(System.nanoTime() + MAX_STALL_NANOS);
                flush(null);
                if (!disarm()) {
                    throw new EOFException("cut");
                }
            }
            in.compact();
            channel.expectSoon(request.alone);
            int read = channel.read(in);
            in.flip();
            if (read < 0) {
                throw new EOFException("the peer hung up");
            }
        }
    }

    private void answer() throws IOException {
        Region region = owner.regions().find(request.claim.region);
        if (region == null || !region.acquire()) {
            refuse(RefusalCause.REGION);
            return;
        }
        touching = region;
        try {
            RefusalCause cause = check.before(verifier, peer, region, request.claim);
            if (cause != null) {
                refuse(cause);
            } else if (request.claim.write) {
                receive(region);
            } else {
                send(region);
            }
        } finally {
            touching = null;
            region.release();
        }
    }

    /** Why what was granted is granted no more, or null. */
    private @Nullable RefusalCause ended(Region region) {
        return check.after(region, request.claim);
    }

    private void note(RefusalCause cause) {
        refusal = cause;
        counters.refused(cause);
    }

    private void refuse(RefusalCause cause) throws IOException {
        note(cause);
        if (request.claim.write) {
            discard(request.length());
        }
        respond(AccessCheck.status(cause), 0);
    }

    private void respond(TransferStatus status, int payloadBytes) throws IOException {
        if (out.remaining() < TcpFrameDescriptor.RESPONSE_BYTES) {
            flush(null);
        }
        TcpFrameDescriptor.putResponse(out, status, sequence, payloadBytes, owner.writeCreditBytes(), crc);
    }

    private void send(Region region) throws IOException {
        if (region.device() != null) {
            send(region, region.device());
            return;
        }
        ByteBuffer payload = view.at(region.address() + request.claim.start(), request.length());
        if (request.length() <= INLINE_BYTES) {
            if (out.remaining()
                    < TcpFrameDescriptor.RESPONSE_BYTES + request.length() + TcpFrameDescriptor.TRAILER_BYTES) {
                flush(null);
            }
            respond(TransferStatus.COMPLETED, request.length());
            out.put(payload);
        } else {
            respond(TransferStatus.COMPLETED, request.length());
            if (request.alone && request.length() >= 2 * TcpFrameDescriptor.PIECE_BYTES) {
                // The reader copies this piece out of the kernel while the next one is copied in.
                flush(payload.limit(TcpFrameDescriptor.PIECE_BYTES));
                payload.limit(request.length());
            }
            flush(payload);
        }
        RawMemory.loadFence();
        sent(ended(region));
    }

    /** As above for memory of a device, which passes through buffers; when it fails, zeros fill the answer up and the trailer says so. */
    private void send(Region region, DeviceMemory device) throws IOException {
        long address = region.address() + request.claim.start();
        boolean sound;
        try (DeviceMemory.Passage passage = device.open(System.nanoTime() + MAX_DEVICE_WAIT_NANOS)) {
            if (passage == null) {
                refuse(RefusalCause.DEVICE);
                return;
            }
            respond(TransferStatus.COMPLETED, request.length());
            sound = passage.send(address, request.length(), this::flush);
        }
        sent(sound ? ended(region) : RefusalCause.DEVICE);
    }

    private void sent(@Nullable RefusalCause after) {
        TcpFrameDescriptor.putTrailer(out, AccessCheck.status(after), sequence, crc);
        if (after == null) {
            counters.requestsServed.increment();
            counters.bytesServed.add(request.length());
        } else {
            note(after);
        }
    }

    private void receive(Region region) throws IOException {
        long stalledAtNanos = System.nanoTime() + MAX_STALL_NANOS;
        long address = region.address() + request.claim.start();
        taken = 0;
        RefusalCause cause = region.device() == null
                ? receive(region, view.at(address, request.length()), stalledAtNanos)
                : receive(region, region.device(), address);
        if (cause == null) {
            cause = ended(region);
        }
        if (cause != null) {
            note(cause);
            arm(System.nanoTime() + MAX_STALL_NANOS);
            discard(request.length() - taken);
        } else {
            counters.requestsServed.increment();
            counters.bytesReceived.add(request.length());
        }
        respond(AccessCheck.status(cause), 0);
    }

    private @Nullable RefusalCause receive(Region region, ByteBuffer target, long stalledAtNanos) throws IOException {
        boolean soon = endsSoon();
        if (!soon && check.checks().leaseExpiry()) {
            arm(Math.min(stalledAtNanos, request.claim.expiresAtNanos));
        }
        takeEarly(target);
        while (target.position() < request.length()) {
            RefusalCause cause = ended(region);
            if (cause != null) {
                return cause;
            }
            target.limit(Math.min(request.length(), target.position() + WRITE_PIECE_BYTES));
            if (!soon && endsSoon()) {
                soon = true;
                arm(stalledAtNanos);
            }
            cause = soon ? takeChecked(region, target) : null;
            if (cause != null) {
                return cause;
            }
            takeAll(target);
        }
        return null;
    }

    private boolean endsSoon() {
        return check.checks().leaseExpiry() && request.claim.expiresAtNanos - System.nanoTime() < SOON_NANOS;
    }

    /** Takes bytes by way of a buffer, as long as what was granted is granted when they have come. */
    private @Nullable RefusalCause takeChecked(Region region, ByteBuffer target) throws IOException {
        ByteBuffer buffer = scratch();
        while (target.hasRemaining()) {
            buffer.clear().limit(Math.min(target.remaining(), DRAIN_BYTES));
            taken += requireMore(channel.read(buffer));
            RefusalCause cause = ended(region);
            if (cause != null) {
                return cause;
            }
            target.put(buffer.flip());
        }
        return null;
    }

    private ByteBuffer scratch() {
        ByteBuffer scratch = drain;
        if (scratch == null) {
            scratch = direct(DRAIN_BYTES);
            drain = scratch;
        }
        return scratch;
    }

    /** As above for memory of a device: a piece that has come is checked before it is copied there; all copies have ended on return. */
    private @Nullable RefusalCause receive(Region region, DeviceMemory device, long address) throws IOException {
        try (DeviceMemory.Passage passage = device.open(System.nanoTime() + MAX_DEVICE_WAIT_NANOS)) {
            if (passage == null) {
                return RefusalCause.DEVICE;
            }
            stopped = null;
            boolean sound = passage.receive(address, request.length(), piece -> {
                stopped = ended(region);
                if (stopped != null) {
                    return false;
                }
                takeEarly(piece);
                takeAll(piece);
                stopped = ended(region);
                return stopped == null;
            });
            return sound ? stopped : RefusalCause.DEVICE;
        }
    }

    /** Takes what of the payload came along with the request. */
    private void takeEarly(ByteBuffer target) {
        int early = Math.min(Math.min(in.remaining(), request.length() - taken), target.remaining());
        int limit = in.limit();
        target.put(in.limit(in.position() + early));
        in.limit(limit);
        taken += early;
    }

    private void takeAll(ByteBuffer target) throws IOException {
        while (target.hasRemaining()) {
            taken += requireMore(channel.read(target));
        }
    }

    /** Takes a refused payload off the stream, so that the next request is found. */
    private void discard(int bytes) throws IOException {
        discarding = true;
        int early = Math.min(in.remaining(), bytes);
        in.position(in.position() + early);
        int left = bytes - early;
        ByteBuffer scratch = scratch();
        while (left > 0) {
            scratch.clear().limit(Math.min(left, DRAIN_BYTES));
            left -= requireMore(channel.read(scratch));
        }
        discarding = false;
    }

    private static int requireMore(int read) throws EOFException {
        if (read < 0) {
            throw new EOFException("the peer hung up");
        }
        return read;
    }

    /** Sends {@code out} and then {@code payload} in as few calls as possible. */
    private void flush(@Nullable ByteBuffer payload) throws IOException {
        out.flip();
        if (payload == null) {
            while (out.hasRemaining()) {
                channel.write(out);
            }
        } else {
            gather[0] = out;
            gather[1] = payload;
            while (payload.hasRemaining() || out.hasRemaining()) {
                channel.write(gather);
            }
        }
        out.clear();
    }
}
