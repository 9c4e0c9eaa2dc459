// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.rdma.RdmaPort.Endpoint;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Payloads of the control plane's services for RDMA, version 1, little-endian. {@code status} is the ordinal in {@link #STATUSES}.
 *
 * <pre>
 * connect  version u8 | rail u8 | endpoint           reply  version u8 | connection i64 | rail u8 | rails u8 | endpoint
 *   rail: the owner's device that is asked for, and the one that answers; rails: how many it has
 *   connection 0: none of the owner's ports carries traffic now, and the endpoint means nothing
 *   endpoint: mtu u8 | lid u16 | gid 16 B | queue pair i32 | sequence i32
 * open     version u8 | access i64 | write u8 | connections u16, each i64 | requests u16, each:
 *            region i32 | generation i64 | offset i64 | length i64 | writable u8 | expiry i64 | capability u8, bytes | size i64
 *          reply  version u8 | known u8 (0: a connection is unknown, nothing was opened) | rails u8, each u8 | requests u16, each:
 *            status u8, and when COMPLETED: address i64 | bytes to the end of the piece i64 | piece i64 | keys u16, each i32
 *            (for each rail in order, those of the pieces)
 * close    version u8 | access i64 | broken connections u16, each i64 | requests u16, each: moved u8
 *          reply  version u8 | requests u16 (0: the access is unknown), each: status u8
 * hang up  version u8 | connections u16, each i64    reply  empty
 * </pre>
 *
 * Every count is compared with the bytes that are there before anything is allocated.
 */
final class RdmaFrameDescriptor {
    /** Requests of one access. */
    static final int MAX_REQUESTS = 4096;

    /** Connections of one access. */
    static final int MAX_CONNECTIONS = 64;

    private static final int VERSION = 1;
    private static final int GID_BYTES = 16;
    private static final int ENDPOINT_BYTES = 1 + 2 + GID_BYTES + 4 + 4;
    private static final int HANDLE_FIXED_BYTES = 4 + 8 * 3 + 1 + 8 + 1;
    private static final int REQUEST_FIXED_BYTES = HANDLE_FIXED_BYTES + 8;
    private static final int MAX_CAPABILITY_BYTES = 255;

    /** The statuses that travel, by their numbers. */
    private static final TransferStatus[] STATUSES = {
        TransferStatus.COMPLETED,
        TransferStatus.STALE_GENERATION,
        TransferStatus.LEASE_EXPIRED,
        TransferStatus.REFUSED,
        TransferStatus.CANCELED,
        RdmaAccess.NOT_THIS_WAY,
        TransferStatus.DEVICE_FAILED
    };

    private RdmaFrameDescriptor() {}

    /** Keys of one grant. */
    static final int MAX_KEYS = 0xffff;

    /** What is asked for a connection: that the owner's device number {@code rail} answers, if it can. */
    record Connect(int rail, Endpoint endpoint) {}

    /** A reply to connect: the owner's device {@code rail} of {@code rails} answers, unless {@code connection} is 0. */
    record Connected(long connection, int rail, int rails, Endpoint endpoint) {
        /** None of the owner's {@code rails} ports carries traffic now. */
        static Connected noPort(int rails) {
            return new Connected(0, 0, rails, new Endpoint(1, 0, new byte[GID_BYTES], 0, 0));
        }
    }

    /** A reply to open: the owner's devices that the access's connections end at, and a grant a request. */
    record Opened(int[] rails, List<Grant> grants) {}

    /** What is asked of an owner. */
    record Open(long access, boolean write, long[] connections, RemoteHandle[] handles, long[] sizes) {}

    /**
     * What an owner grants for one request.
     *
     * @param status COMPLETED: granted, and the other fields count
     * @param address of the handle's first byte, in the owner's process
     * @param firstPieceBytes from there to the end of the first piece
     * @param pieceBytes of the following pieces
     * @param keys for each of the access's rails, one a piece
     */
    record Grant(TransferStatus status, long address, long firstPieceBytes, long pieceBytes, int[] keys) {
        static Grant refused(TransferStatus status) {
            return new Grant(status, 0, 0, 0, new int[0]);
        }
    }

    /** The end of an access; the queue pairs of {@code broken} are gone on the reader's side. */
    record Close(long access, long[] broken, boolean[] moved) {}

    static byte[] encodeConnect(Connect connect) {
        ByteBuffer to = allocate(1 + ENDPOINT_BYTES).put((byte) connect.rail);
        putEndpoint(to, connect.endpoint);
        return to.array();
    }

    static Connect decodeConnect(byte[] payload) {
        return decode(payload, from -> new Connect(from.get() & 0xff, endpoint(from)));
    }

    static byte[] encodeConnected(Connected connected) {
        ByteBuffer to = allocate(10 + ENDPOINT_BYTES).putLong(connected.connection);
        putEndpoint(to.put((byte) connected.rail).put((byte) connected.rails), connected.endpoint);
        return to.array();
    }

    static Connected decodeConnected(byte[] payload) {
        return decode(payload, from -> {
            long connection = from.getLong();
            int rail = from.get() & 0xff;
            int rails = from.get() & 0xff;
            if (rail >= rails) {
                throw corrupt("rail " + rail + " of " + rails);
            }
            return new Connected(connection, rail, rails, endpoint(from));
        });
    }

    private static void putEndpoint(ByteBuffer to, Endpoint endpoint) {
        to.put((byte) endpoint.mtu()).putShort((short) endpoint.lid()).put(endpoint.gid());
        to.putInt(endpoint.number()).putInt(endpoint.sequence());
    }

    private static Endpoint endpoint(ByteBuffer from) {
        int mtu = from.get();
        int lid = from.getShort() & 0xffff;
        byte[] gid = new byte[GID_BYTES];
        from.get(gid);
        int number = from.getInt();
        int sequence = from.getInt();
        if (mtu < 1 || mtu > 5 || sequence < 0 || sequence >= 1 << 24) {
            throw corrupt("mtu " + mtu + ", sequence " + sequence);
        }
        return new Endpoint(mtu, lid, gid, number, sequence);
    }

    static byte[] encodeOpen(Open open) {
        int bytes = 8 + 1 + 2 + 8 * open.connections.length + 2;
        for (RemoteHandle handle : open.handles) {
            bytes += handleBytes(handle) + 8;
        }
        ByteBuffer to = allocate(bytes).putLong(open.access).put((byte) (open.write ? 1 : 0));
        to.putShort((short) open.connections.length);
        for (long connection : open.connections) {
            to.putLong(connection);
        }
        to.putShort((short) open.handles.length);
        for (int i = 0; i < open.handles.length; i++) {
            putHandle(to, open.handles[i]);
            to.putLong(open.sizes[i]);
        }
        return to.array();
    }

    static int handleBytes(RemoteHandle handle) {
        return HANDLE_FIXED_BYTES + sentCapability(handle);
    }

    static void putHandle(ByteBuffer to, RemoteHandle handle) {
        to.putInt(handle.region()).putLong(handle.generation());
        to.putLong(handle.offset()).putLong(handle.length()).put((byte) (handle.writable() ? 1 : 0));
        to.putLong(handle.expiresAtNanos()).put((byte) sentCapability(handle));
        to.put(handle.capability(), 0, sentCapability(handle));
    }

    /** One that is too long is no capability; the owner says so. */
    private static int sentCapability(RemoteHandle handle) {
        return Math.min(MAX_CAPABILITY_BYTES, handle.capability().length);
    }

    static Open decodeOpen(byte[] payload) {
        return decode(payload, from -> {
            long access = from.getLong();
            boolean write = from.get() != 0;
            long[] connections = longs(from);
            int count = count(from, REQUEST_FIXED_BYTES, MAX_REQUESTS);
            if (count == 0) {
                throw corrupt("no requests");
            }
            RemoteHandle[] handles = new RemoteHandle[count];
            long[] sizes = new long[count];
            for (int i = 0; i < count; i++) {
                handles[i] = handle(from);
                sizes[i] = from.getLong();
            }
            return new Open(access, write, connections, handles, sizes);
        });
    }

    static RemoteHandle handle(ByteBuffer from) {
        int region = from.getInt();
        long generation = from.getLong();
        long offset = from.getLong();
        long length = from.getLong();
        boolean writable = from.get() != 0;
        long expiry = from.getLong();
        byte[] capability = new byte[from.get() & 0xff];
        from.get(capability);
        try {
            return new RemoteHandle(region, generation, offset, length, writable, expiry, capability);
        } catch (MooncakeException e) {
            throw corrupt("handle " + offset + "+" + length);
        }
    }

    private static long[] longs(ByteBuffer from) {
        long[] values = new long[count(from, 8, MAX_CONNECTIONS)];
        for (int i = 0; i < values.length; i++) {
            values[i] = from.getLong();
        }
        return values;
    }

    /** {@code opened} null: a connection is unknown. */
    static byte[] encodeOpened(@Nullable Opened opened) {
        if (opened == null) {
            return allocate(4).array();
        }
        int bytes = 4 + opened.rails.length;
        for (Grant grant : opened.grants) {
            bytes += grant.status == TransferStatus.COMPLETED ? 27 + 4 * grant.keys.length : 1;
        }
        ByteBuffer to = allocate(bytes).put((byte) 1).put((byte) opened.rails.length);
        for (int rail : opened.rails) {
            to.put((byte) rail);
        }
        to.putShort((short) opened.grants.size());
        for (Grant grant : opened.grants) {
            to.put((byte) number(grant.status));
            if (grant.status == TransferStatus.COMPLETED) {
                to.putLong(grant.address).putLong(grant.firstPieceBytes).putLong(grant.pieceBytes);
                to.putShort((short) grant.keys.length);
                for (int key : grant.keys) {
                    to.putInt(key);
                }
            }
        }
        return to.array();
    }

    /** Null: a connection is unknown to the owner. */
    static @Nullable Opened decodeOpened(byte[] payload) {
        List<Grant> grants = new ArrayList<>();
        int[] rails = decode(payload, from -> {
            boolean known = from.get() != 0;
            int[] found = new int[Math.min(from.get() & 0xff, from.remaining())];
            for (int i = 0; i < found.length; i++) {
                found[i] = from.get() & 0xff;
            }
            int count = count(from, 1, MAX_REQUESTS);
            if (known && found.length == 0) {
                throw corrupt("no rails");
            }
            for (int i = 0; i < count; i++) {
                grants.add(grant(from, found.length));
            }
            return known ? found : new int[0];
        });
        return rails.length == 0 ? null : new Opened(rails, grants);
    }

    private static Grant grant(ByteBuffer from, int rails) {
        TransferStatus status = status(from.get());
        if (status != TransferStatus.COMPLETED) {
            return Grant.refused(status);
        }
        long address = from.getLong();
        long first = from.getLong();
        long piece = from.getLong();
        int[] keys = new int[count(from, 4, MAX_KEYS)];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = from.getInt();
        }
        if (first < 1 || piece < first || rails == 0 || keys.length == 0 || keys.length % rails != 0) {
            throw corrupt("pieces of " + first + " and " + piece + ", " + keys.length + " keys, " + rails + " rails");
        }
        return new Grant(status, address, first, piece, keys);
    }

    static byte[] encodeClose(Close close) {
        ByteBuffer to =
                allocate(12 + 8 * close.broken.length + close.moved.length).putLong(close.access);
        to.putShort((short) close.broken.length);
        for (long connection : close.broken) {
            to.putLong(connection);
        }
        to.putShort((short) close.moved.length);
        for (boolean moved : close.moved) {
            to.put((byte) (moved ? 1 : 0));
        }
        return to.array();
    }

    static Close decodeClose(byte[] payload) {
        return decode(payload, from -> {
            long access = from.getLong();
            long[] broken = longs(from);
            boolean[] moved = new boolean[count(from, 1, MAX_REQUESTS)];
            for (int i = 0; i < moved.length; i++) {
                moved[i] = from.get() != 0;
            }
            return new Close(access, broken, moved);
        });
    }

    static byte[] encodeClosed(TransferStatus[] statuses) {
        ByteBuffer to = allocate(2 + statuses.length).putShort((short) statuses.length);
        for (TransferStatus status : statuses) {
            to.put((byte) number(status));
        }
        return to.array();
    }

    static TransferStatus[] decodeClosed(byte[] payload) {
        return decode(payload, from -> {
            TransferStatus[] statuses = new TransferStatus[count(from, 1, MAX_REQUESTS)];
            for (int i = 0; i < statuses.length; i++) {
                statuses[i] = status(from.get());
            }
            return statuses;
        });
    }

    static byte[] encodeHangUp(long[] connections) {
        ByteBuffer to = allocate(2 + 8 * connections.length).putShort((short) connections.length);
        for (long connection : connections) {
            to.putLong(connection);
        }
        return to.array();
    }

    static long[] decodeHangUp(byte[] payload) {
        return decode(payload, RdmaFrameDescriptor::longs);
    }

    static int number(TransferStatus status) {
        for (int i = 0; i < STATUSES.length; i++) {
            if (STATUSES[i] == status) {
                return i;
            }
        }
        throw new IllegalArgumentException("status: " + status + " (expected: one that travels)");
    }

    static TransferStatus status(int number) {
        if (number < 0 || number >= STATUSES.length) {
            throw corrupt("status " + number);
        }
        return STATUSES[number];
    }

    static ByteBuffer allocate(int bytes) {
        return ByteBuffer.allocate(1 + bytes).order(ByteOrder.LITTLE_ENDIAN).put((byte) VERSION);
    }

    /** Reads one value. */
    interface Body<T> {
        T from(ByteBuffer bytes);
    }

    static <T> T decode(byte[] payload, Body<T> body) {
        ByteBuffer from = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
        try {
            int version = from.get();
            if (version != VERSION) {
                throw new MooncakeException(
                        MooncakeException.Code.PEER_REFUSED,
                        "RDMA protocol: " + version + " (expected: " + VERSION + ")");
            }
            T value = body.from(from);
            if (from.hasRemaining()) {
                throw corrupt(from.remaining() + " trailing bytes");
            }
            return value;
        } catch (BufferUnderflowException e) {
            throw corrupt("ends early");
        }
    }

    static int count(ByteBuffer from, int bytesEach, int max) {
        int count = from.getShort() & 0xffff;
        if (count > max || count > from.remaining() / bytesEach) {
            throw corrupt("count " + count + " with " + from.remaining() + " bytes left");
        }
        return count;
    }

    static MooncakeException corrupt(String what) {
        return new MooncakeException(MooncakeException.Code.CORRUPT, "RDMA frame: " + what);
    }
}
