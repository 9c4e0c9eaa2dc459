// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.DmaBuf;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsRegistration;
import io.mooncake.transfer.internal.Region;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The device's registrations of the engine's regions, in pieces of at most the device's limit.
 *
 * <p>A region has up to two sets of keys: one to read it, made with the region, and one to write it, made when the first writable access is
 * granted, so that who was only ever allowed to read holds no key that writes. Look-ups scan an array that writers replace.
 */
final class RdmaRegions implements AutoCloseable {
    private final VerbsDevice device;
    private final long pieceBytes;
    private volatile Registered[] all = new Registered[0];
    // Guarded by this.
    private boolean closed;

    /** A region's registrations. */
    static final class Registered {
        private final Region region;
        private final Registrar registrar;
        private final VerbsRegistration[] readable;
        private volatile VerbsRegistration @Nullable [] writable;

        private Registered(Region region, Registrar registrar, VerbsRegistration[] readable) {
            this.region = region;
            this.registrar = registrar;
            this.readable = readable;
        }
    }

    /** How the device learns of a range. */
    private interface Registrar {
        VerbsRegistration register(long address, long length, int access);
    }

    RdmaRegions(VerbsDevice device, long pieceBytes) {
        this.device = device;
        this.pieceBytes = pieceBytes;
    }

    long pieceBytes() {
        return pieceBytes;
    }

    void register(Region region) {
        register(region, device::register);
    }

    /** As {@link #register}, of GPU memory, which the device reaches by dma-bufs of its pieces. */
    void registerDmaBuf(Region region, CudaDevice gpu) {
        register(region, (address, length, access) -> {
            try (DmaBuf buffer = gpu.exportDmaBuf(address, length)) {
                return device.registerDmaBuf(buffer, buffer.offset(), length, address, access);
            }
        });
    }

    private synchronized void register(Region region, Registrar registrar) {
        if (closed) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "the RDMA transport is closed");
        }
        Registered made = new Registered(
                region, registrar, pieces(region, registrar, VerbsDevice.LOCAL_WRITE | VerbsDevice.REMOTE_READ));
        Registered[] next = Arrays.copyOf(all, all.length + 1);
        next[all.length] = made;
        all = next;
    }

    private VerbsRegistration[] pieces(Region region, Registrar registrar, int access) {
        int count = Math.toIntExact((region.length() + pieceBytes - 1) / pieceBytes);
        VerbsRegistration[] made = new VerbsRegistration[count];
        try {
            for (int i = 0; i < count; i++) {
                long from = i * pieceBytes;
                made[i] = registrar.register(
                        region.address() + from, Math.min(pieceBytes, region.length() - from), access);
            }
        } catch (RuntimeException e) {
            for (VerbsRegistration one : made) {
                if (one != null) {
                    one.close();
                }
            }
            throw e;
        }
        return made;
    }

    /** The keys of the pieces that a range touches, in order; null when the region is not registered. */
    synchronized int @Nullable [] remoteKeys(Region region, long offset, long length, boolean write) {
        for (Registered one : all) {
            if (one.region == region) {
                VerbsRegistration[] set = write ? writable(one) : one.readable;
                int first = (int) (offset / pieceBytes);
                int[] keys = new int[(int) ((offset + length - 1) / pieceBytes) - first + 1];
                for (int i = 0; i < keys.length; i++) {
                    keys[i] = set[first + i].remoteKey();
                }
                return keys;
            }
        }
        return null;
    }

    private VerbsRegistration[] writable(Registered one) {
        VerbsRegistration[] set = one.writable;
        if (set == null) {
            set = pieces(one.region, one.registrar, VerbsDevice.LOCAL_WRITE | VerbsDevice.REMOTE_WRITE);
            one.writable = set;
        }
        return set;
    }

    /** The registration of the region around an own address that the caller holds. */
    Registered require(long address) {
        for (Registered one : all) {
            if (address >= one.region.address() && address - one.region.address() < one.region.length()) {
                return one;
            }
        }
        throw new IllegalStateException("0x" + Long.toHexString(address) + " is not registered with the device");
    }

    /** Whether the device has the region around an own address. */
    boolean has(long address) {
        for (Registered one : all) {
            if (address >= one.region.address() && address - one.region.address() < one.region.length()) {
                return true;
            }
        }
        return false;
    }

    /** The local key for an own address. */
    int localKey(Registered in, long address) {
        return in.readable[(int) ((address - in.region.address()) / pieceBytes)].localKey();
    }

    /** Bytes from an own address to the end of its piece. */
    long bytesInPiece(Registered in, long address) {
        return pieceBytes - (address - in.region.address()) % pieceBytes;
    }

    /** Revokes the keys of a region in the device. Nobody uses it any more but peers who should not. */
    synchronized void deregister(Region region) {
        for (Registered one : all) {
            if (one.region == region) {
                close(one);
            }
        }
        all = Arrays.stream(all).filter(one -> one.region != region).toArray(Registered[]::new);
    }

    private static void close(Registered one) {
        for (VerbsRegistration piece : one.readable) {
            piece.close();
        }
        VerbsRegistration[] set = one.writable;
        if (set != null) {
            for (VerbsRegistration piece : set) {
                piece.close();
            }
        }
    }

    @Override
    public synchronized void close() {
        for (Registered one : all) {
            close(one);
        }
        all = new Registered[0];
        closed = true;
    }
}
