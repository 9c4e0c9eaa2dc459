// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static io.mooncake.transfer.rdma.RdmaFrameDescriptor.allocate;
import static io.mooncake.transfer.rdma.RdmaFrameDescriptor.corrupt;
import static io.mooncake.transfer.rdma.RdmaFrameDescriptor.decode;

import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Payloads of the service that says where a region is and which keys read it, version 1, little-endian.
 *
 * <pre>
 * ask      version u8 | region i32 | generation i64 | offset i64 | length i64 | writable u8 | expiry i64 | capability u8, bytes
 * reply    version u8 | status u8, as in RdmaFrameDescriptor, and when COMPLETED:
 *            address of the region's first byte i64 | its length i64 | piece i64 | rails u8 | keys u16, each i32
 *            (for each of the owner's rails in order, those of all pieces)
 * </pre>
 *
 * Every count is compared with the bytes that are there before anything is allocated.
 */
final class RdmaRegionFrameDescriptor {
    private RdmaRegionFrameDescriptor() {}

    /** An answer: the region when the status is COMPLETED. */
    record Known(TransferStatus status, @Nullable PeerRegion region) {}

    static byte[] encodeAsk(RemoteHandle handle) {
        ByteBuffer to = allocate(RdmaFrameDescriptor.handleBytes(handle));
        RdmaFrameDescriptor.putHandle(to, handle);
        return to.array();
    }

    static RemoteHandle decodeAsk(byte[] payload) {
        return decode(payload, RdmaFrameDescriptor::handle);
    }

    static byte[] encodeKnown(Known known) {
        PeerRegion region = known.region();
        byte status = (byte) RdmaFrameDescriptor.number(known.status());
        if (region == null) {
            return allocate(1).put(status).array();
        }
        int[] keys = region.keys();
        ByteBuffer to = allocate(1 + 24 + 1 + 2 + 4 * keys.length).put(status);
        to.putLong(region.address()).putLong(region.length()).putLong(region.pieceBytes());
        to.put((byte) region.rails()).putShort((short) keys.length);
        for (int key : keys) {
            to.putInt(key);
        }
        return to.array();
    }

    /** @param id of the region that was asked for */
    static Known decodeKnown(byte[] payload, int id) {
        return decode(payload, from -> {
            TransferStatus status = RdmaFrameDescriptor.status(from.get());
            return new Known(status, status == TransferStatus.COMPLETED ? region(from, id) : null);
        });
    }

    private static PeerRegion region(ByteBuffer from, int id) {
        long address = from.getLong();
        long length = from.getLong();
        long piece = from.getLong();
        int rails = from.get() & 0xff;
        int[] keys = new int[RdmaFrameDescriptor.count(from, 4, RdmaFrameDescriptor.MAX_KEYS)];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = from.getInt();
        }
        boolean sound = length >= 1
                && piece >= 1
                && rails >= 1
                && keys.length % rails == 0
                && PeerRegion.pieces(length, piece) == keys.length / rails;
        if (!sound) {
            throw corrupt("region of " + length + " in pieces of " + piece + ", " + keys.length + " keys, " + rails
                    + " rails");
        }
        return new PeerRegion(id, address, length, piece, rails, keys);
    }
}
