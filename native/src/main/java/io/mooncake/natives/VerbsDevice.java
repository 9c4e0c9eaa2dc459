// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * An open device with one protection domain.
 *
 * <p>Ownership: the caller closes what it made of the device, registrations and queue pairs, before the device itself; a device that is
 * still in use refuses to close and stays open. Threading: safe for all threads, except that nothing may run while it is being closed.
 */
public final class VerbsDevice implements AutoCloseable {
    /** Rights of a registration and of a queue pair. */
    public static final int LOCAL_WRITE = 1;

    /** Peers may write; needs LOCAL_WRITE. */
    public static final int REMOTE_WRITE = 2;

    /** Peers may read. */
    public static final int REMOTE_READ = 4;

    private static final int GID_BYTES = 16;

    private static final int EBUSY = 16;

    private final String name;
    // Guarded by this.
    private long handle;
    // Calls under way, registrations and queue pairs. Guarded by this; at zero alone may the device go.
    private int users;

    VerbsDevice(String name, long handle) {
        this.name = name;
        this.handle = handle;
    }

    /**
     * What the device can do.
     *
     * @param maxRegistrationBytes of one registration
     * @param maxQueuePairs in all processes together
     * @param maxQueueDepth requests outstanding on one queue pair
     * @param maxCompletions in one completion queue
     * @param maxRegistrations in all processes together
     * @param maxReads reads outstanding on one queue pair
     * @param ports numbered from 1
     */
    public record Limits(
            long maxRegistrationBytes,
            int maxQueuePairs,
            int maxQueueDepth,
            int maxCompletions,
            int maxRegistrations,
            int maxReads,
            int ports) {}

    /**
     * A port.
     *
     * @param active whether it carries traffic now
     * @param mtu the code of {@code ibv_mtu}: 1 is 256 bytes, 5 is 4,096
     * @param lid local identifier of InfiniBand; 0 on Ethernet
     * @param ethernet whether the link layer is Ethernet
     * @param gids length of the table of global identifiers
     */
    public record Port(boolean active, int mtu, int lid, boolean ethernet, int gids) {}

    /**
     * An entry of a port's table of global identifiers.
     *
     * @param index in the table
     * @param bytes 16 of them
     * @param type what the kernel calls it: {@code IB/RoCE v1}, {@code RoCE v2}, or empty where it does not say
     */
    public record Gid(int index, byte[] bytes, String type) {
        private static final int LINK_LOCAL = 0xfe80;

        /** Whether it is an IPv4 address mapped into IPv6. */
        public boolean ipv4() {
            for (int i = 0; i < 10; i++) {
                if (bytes[i] != 0) {
                    return false;
                }
            }
            return bytes[10] == -1 && bytes[11] == -1;
        }

        /** Whether it is an IPv6 link-local address. */
        public boolean linkLocal() {
            return (((bytes[0] & 0xff) << 8 | (bytes[1] & 0xff)) & 0xffc0) == LINK_LOCAL;
        }
    }

    /** The device's name. */
    public String name() {
        return name;
    }

    /** Asks the device. */
    public Limits limits() {
        long[] out = new long[7];
        Verbs.require(name + ": query device", asked(device -> VerbsCalls.limits(device, out)));
        return new Limits(out[0], (int) out[1], (int) out[2], (int) out[3], (int) out[4], (int) out[5], (int) out[6]);
    }

    /** Asks for a port, numbered from 1. */
    public Port port(int number) {
        int[] out = new int[5];
        Verbs.require(name + ": query port " + number, asked(device -> VerbsCalls.port(device, number, out)));
        return new Port(out[0] == 4, out[1], out[2], out[3] == 2, out[4]);
    }

    /** The entries of a port's table that are in use, in its order. */
    public List<Gid> gids(int port) {
        int entries = port(port).gids();
        byte[] table = new byte[entries * GID_BYTES];
        Verbs.require(
                name + ": query the addresses of port " + port,
                asked(device -> VerbsCalls.gids(device, port, entries, table)));
        List<Gid> found = new ArrayList<>();
        for (int i = 0; i < entries; i++) {
            byte[] bytes = Arrays.copyOfRange(table, i * GID_BYTES, (i + 1) * GID_BYTES);
            if (!allZero(bytes)) {
                found.add(new Gid(i, bytes, type(port, i)));
            }
        }
        return List.copyOf(found);
    }

    private static boolean allZero(byte[] bytes) {
        for (byte one : bytes) {
            if (one != 0) {
                return false;
            }
        }
        return true;
    }

    private String type(int port, int index) {
        Path file = Path.of("/sys/class/infiniband", name, "ports", "" + port, "gid_attrs", "types", "" + index);
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return "";
        }
    }

    /**
     * Registers memory, which stays locked until the registration is closed. The caller keeps it mapped meanwhile.
     *
     * @param access LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ added up
     * @throws VerbsException EXHAUSTED when the limit of locked memory is too low
     */
    public VerbsRegistration register(long address, long length, int access) {
        if (address <= 0 || length < 1) {
            throw MooncakeException.invalid("memory", address + "+" + length, "an address and at least 1 byte");
        }
        int[] keys = new int[2];
        int[] error = new int[1];
        long region = VerbsCalls.register(enter(), address, length, access, keys, error);
        if (region == 0) {
            leave();
            throw new VerbsException(name + ": register " + length + " bytes", error[0]);
        }
        return new VerbsRegistration(this, region, keys[0], keys[1]);
    }

    /**
     * Registers a range of a dma-buf, memory of another device that this one reaches without the host.
     *
     * @param offset in the dma-buf
     * @param address by which requests name the first byte; equal to {@code offset} within a page
     * @param access as for {@link #register}
     * @throws VerbsException the device or its driver cannot do that
     */
    public VerbsRegistration registerDmaBuf(DmaBuf buffer, long offset, long length, long address, int access) {
        if (offset < 0 || length < 1) {
            throw MooncakeException.invalid("dma-buf", offset + "+" + length, "an offset and at least 1 byte");
        }
        int[] keys = new int[2];
        int[] error = new int[1];
        long region =
                VerbsCalls.registerDmaBuf(enter(), buffer.descriptor(), offset, length, address, access, keys, error);
        if (region == 0) {
            leave();
            throw new VerbsException(name + ": register " + length + " bytes of a dma-buf", error[0]);
        }
        return new VerbsRegistration(this, region, keys[0], keys[1]);
    }

    /**
     * Makes a reliable connected queue pair in state RESET, with a completion queue of its own.
     *
     * @param depth requests outstanding at most
     */
    public VerbsQueuePair createQueuePair(int depth) {
        int[] number = new int[1];
        int[] error = new int[1];
        long pair = VerbsCalls.createQueuePair(enter(), depth, number, error);
        if (pair == 0) {
            leave();
            throw new VerbsException(name + ": create queue pair of depth " + depth, error[0]);
        }
        return new VerbsQueuePair(this, pair, number[0]);
    }

    /**
     * Waits for the device to say something. One thread at a time; the device cannot be closed meanwhile.
     *
     * @return null when it said nothing in {@code timeoutMillis}, or after {@link #endEvents}
     */
    public @Nullable VerbsEvent awaitEvent(int timeoutMillis) {
        int[] out = new int[2];
        int found = asked(device -> VerbsCalls.nextEvent(device, timeoutMillis, out));
        if (found < 0) {
            throw new VerbsException(name + ": wait for an event", -found);
        }
        return found == 0 ? null : VerbsEvent.of(out[0], out[1]);
    }

    /** {@link #awaitEvent} returns at once, now and from now on. */
    public void endEvents() {
        Verbs.require(name + ": end events", asked(VerbsCalls::endEvents));
    }

    private int asked(LongToIntFunction call) {
        long device = enter();
        try {
            return call.applyAsInt(device);
        } finally {
            leave();
        }
    }

    /** Becomes a user; owes a {@link #leave}. */
    private synchronized long enter() {
        if (handle == 0) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, name + ": closed");
        }
        users++;
        return handle;
    }

    /** A call has returned, or what was made of the device is gone. */
    synchronized void leave() {
        users--;
    }

    @Override
    public synchronized void close() {
        if (handle != 0) {
            Verbs.require(name + ": close with " + users + " users", users == 0 ? 0 : EBUSY);
            Verbs.require(name + ": close", VerbsCalls.close(handle));
            handle = 0;
        }
    }
}
