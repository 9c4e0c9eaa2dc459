// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.DmaBuf;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsException;
import io.mooncake.natives.VerbsRegistration;
import io.mooncake.transfer.internal.Region;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The devices' registrations of the engine's regions, in pieces of at most what every device takes.
 *
 * <p>A region has up to two sets of keys a device: one to read it, made with the region, and one to write it, made when the first writable
 * access is granted, so that who was only ever allowed to read holds no key that writes. A region is registered with all devices or not at
 * all. Look-ups scan an array that writers replace; the keys of a piece may be replaced by {@link #revoke}, so whoever uses own memory
 * reads the local key for each request.
 */
final class RdmaRegions implements AutoCloseable {
    private final List<VerbsDevice> devices;
    private final long pieceBytes;
    private volatile Registered[] all = new Registered[0];
    // Guarded by this.
    private boolean closed;

    /** A region's registrations: of device i, piece j. Elements are replaced under the lock of the regions. */
    static final class Registered {
        private final Region region;
        private final VerbsRegistration[][] readable;
        private volatile VerbsRegistration @Nullable [][] writable;

        private final Registrar registrar;

        private Registered(Region region, Registrar registrar, VerbsRegistration[][] readable) {
            this.region = region;
            this.registrar = registrar;
            this.readable = readable;
        }
    }

    /** How a device learns of a range. */
    private interface Registrar {
        VerbsRegistration register(VerbsDevice device, long address, long length, int access);
    }

    RdmaRegions(List<VerbsDevice> devices, long pieceBytes) {
        this.devices = List.copyOf(devices);
        this.pieceBytes = pieceBytes;
    }

    long pieceBytes() {
        return pieceBytes;
    }

    /**
     * Registers a region with all devices.
     *
     * @throws MooncakeException CONFIGURATION when it cannot be locked; nothing of it is registered then
     */
    void register(Region region) {
        register(region, VerbsDevice::register);
    }

    /** As {@link #register}, of GPU memory, which the devices reach by dma-bufs of its pieces. */
    void registerDmaBuf(Region region, CudaDevice gpu) {
        register(region, (device, address, length, access) -> {
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

    private VerbsRegistration[][] pieces(Region region, Registrar registrar, int access) {
        int count = Math.toIntExact((region.length() + pieceBytes - 1) / pieceBytes);
        VerbsRegistration[][] made = new VerbsRegistration[devices.size()][count];
        try {
            for (int i = 0; i < made.length; i++) {
                for (int j = 0; j < count; j++) {
                    made[i][j] = piece(i, region, registrar, j, access);
                }
            }
        } catch (VerbsException e) {
            close(made);
            throw e.code() == MooncakeException.Code.EXHAUSTED ? cannotLock(region, e) : e;
        } catch (RuntimeException e) {
            close(made);
            throw e;
        }
        return made;
    }

    private VerbsRegistration piece(int device, Region region, Registrar registrar, int piece, int access) {
        long from = piece * pieceBytes;
        long length = Math.min(pieceBytes, region.length() - from);
        return registrar.register(devices.get(device), region.address() + from, length, access);
    }

    private MooncakeException cannotLock(Region region, VerbsException cause) {
        long locked = 0;
        for (Registered one : all) {
            locked += one.region.length() * (one.writable == null ? 1 : 2);
        }
        return new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "RDMA cannot lock a region of " + region.length() + " bytes: " + cause.getMessage() + "; " + locked
                        + " bytes in " + all.length + " regions are locked on each of " + devices.size()
                        + " devices (expected: ulimit -l above what is registered, twice where peers write)",
                cause);
    }

    /**
     * The keys of the pieces that a range touches, for each of {@code rails} in order; null when the region is not registered.
     *
     * @throws MooncakeException CONFIGURATION when the set of keys that write cannot be made
     */
    synchronized int @Nullable [] remoteKeys(Region region, long offset, long length, boolean write, int[] rails) {
        for (Registered one : all) {
            if (one.region == region) {
                VerbsRegistration[][] set = write ? writable(one) : one.readable;
                int first = (int) (offset / pieceBytes);
                int pieces = (int) ((offset + length - 1) / pieceBytes) - first + 1;
                int[] keys = new int[Math.multiplyExact(rails.length, pieces)];
                for (int i = 0; i < keys.length; i++) {
                    keys[i] = set[rails[i / pieces]][first + i % pieces].remoteKey();
                }
                return keys;
            }
        }
        return null;
    }

    /** A region with the keys that read it, of all devices; null when it is not registered, or in too many pieces to say. */
    synchronized @Nullable PeerRegion readable(Region region) {
        for (Registered one : all) {
            long keys = (long) devices.size() * PeerRegion.pieces(region.length(), pieceBytes);
            if (one.region == region && keys <= RdmaFrameDescriptor.MAX_KEYS) {
                int[] rails = IntStream.range(0, devices.size()).toArray();
                int[] read = remoteKeys(region, 0, region.length(), false, rails);
                return read == null
                        ? null
                        : new PeerRegion(
                                region.id(), region.address(), region.length(), pieceBytes, rails.length, read);
            }
        }
        return null;
    }

    private VerbsRegistration[][] writable(Registered one) {
        VerbsRegistration[][] set = one.writable;
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
        throw new MooncakeException(
                MooncakeException.Code.ILLEGAL_STATE,
                "0x" + Long.toHexString(address) + " is not registered with the device");
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

    /** The local key of a device for an own address. */
    int localKey(int device, Registered in, long address) {
        return in.readable[device][(int) ((address - in.region.address()) / pieceBytes)].localKey();
    }

    /** Bytes from an own address to the end of its piece. */
    long bytesInPiece(Registered in, long address) {
        return pieceBytes - (address - in.region.address()) % pieceBytes;
    }

    /**
     * Ends all keys that reach a range, in the devices, and makes others for the pieces that they were for. When it returns no device
     * answers or takes a byte with the old ones; requests under way that used them fail, those to other ranges of the pieces too.
     *
     * @throws MooncakeException when new keys cannot be made: the region is deregistered then
     */
    synchronized void revoke(Region region, long offset, long length) {
        for (Registered one : all) {
            if (one.region == region) {
                try {
                    renew(one, one.readable, offset, length, VerbsDevice.LOCAL_WRITE | VerbsDevice.REMOTE_READ);
                    VerbsRegistration[][] set = one.writable;
                    if (set != null) {
                        renew(one, set, offset, length, VerbsDevice.LOCAL_WRITE | VerbsDevice.REMOTE_WRITE);
                    }
                } catch (RuntimeException e) {
                    deregister(region);
                    throw e;
                }
            }
        }
    }

    private void renew(Registered one, VerbsRegistration[][] set, long offset, long length, int access) {
        int last = (int) ((offset + length - 1) / pieceBytes);
        for (int i = 0; i < set.length; i++) {
            for (int j = (int) (offset / pieceBytes); j <= last; j++) {
                // The old ones first: the memory is not locked twice.
                set[i][j].close();
                set[i][j] = piece(i, one.region, one.registrar, j, access);
            }
        }
    }

    /** Revokes the keys of a region in the devices. Nobody uses it any more but peers who should not. */
    synchronized void deregister(Region region) {
        for (Registered one : all) {
            if (one.region == region) {
                close(one);
            }
        }
        all = Arrays.stream(all).filter(one -> one.region != region).toArray(Registered[]::new);
    }

    private static void close(Registered one) {
        close(one.readable);
        VerbsRegistration[][] set = one.writable;
        if (set != null) {
            close(set);
        }
    }

    private static void close(VerbsRegistration[][] set) {
        for (VerbsRegistration[] ofDevice : set) {
            for (VerbsRegistration piece : ofDevice) {
                if (piece != null) {
                    piece.close();
                }
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
