// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** A device that misbehaves now and then: of one kind of file, segments unless told, so that the test knows what each fault must lead to. */
final class FaultyDisk extends ForwardingDevice {
    /** What may go wrong with one operation. */
    enum Fault {
        /** The write is acknowledged and never happens. */
        LOST_WRITE,
        /** The write goes to another slot. */
        MISDIRECTED_WRITE,
        /** The read is of another slot. */
        MISDIRECTED_READ,
        /** The read gives what was there before the last write. */
        STALE_READ,
        /** The operation does a part of it. */
        SHORT,
        READ_ERROR,
        WRITE_ERROR,
        SYNC_ERROR,
        STALL
    }

    private final Map<Fault, Double> rates = new EnumMap<>(Fault.class);
    /** How often a fault strikes still; as often as it likes when it is not here. */
    private final Map<Fault, Integer> left = new EnumMap<>(Fault.class);

    private final Map<Fault, LongAdder> injected = new EnumMap<>(Fault.class);
    private SplittableRandom random = new SplittableRandom(1);
    private int recordBytes = 1;
    private volatile long stallMillis;
    private volatile CountDownLatch gate = new CountDownLatch(0);
    private volatile CountDownLatch held = new CountDownLatch(1);
    private volatile boolean dead;
    private volatile String why = "injected";
    private volatile boolean full;
    private volatile String kind = "segment";
    /** By file and offset: what lay there before the last write. */
    private final Map<String, byte[]> before = new ConcurrentHashMap<>();

    FaultyDisk(SsdDevice device) {
        super(device);
        for (Fault fault : Fault.values()) {
            injected.put(fault, new LongAdder());
        }
    }

    synchronized FaultyDisk fault(Fault fault, double rate) {
        rates.put(fault, rate);
        return this;
    }

    /** The fault strikes {@code count} times, and never again. */
    synchronized FaultyDisk atMost(Fault fault, int count) {
        left.put(fault, count);
        return this;
    }

    /** Faults are of the files of this kind from now on. */
    FaultyDisk of(String files) {
        kind = files;
        return this;
    }

    synchronized void noFaults() {
        rates.clear();
        left.clear();
        dead = false;
        full = false;
        full = false;
    }

    synchronized FaultyDisk with(SplittableRandom randomness, int record, long stall) {
        random = randomness;
        recordBytes = record;
        stallMillis = stall;
        return this;
    }

    long injected(Fault fault) {
        return injected.get(fault).sum();
    }

    /** All operations from now on wait until {@link #letGo}. */
    void hold() {
        held = new CountDownLatch(1);
        gate = new CountDownLatch(1);
    }

    void awaitHeld() {
        await(held);
    }

    void letGo() {
        gate.countDown();
    }

    /** All writes and syncs, of all files, fail from now on. */
    void die() {
        dead = true;
    }

    /** What its failures say from now on. */
    FaultyDisk saying(String reason) {
        why = reason;
        return this;
    }

    /** No file can be made from now on. */
    void fillUp() {
        full = true;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized boolean strikes(String name, Fault fault) {
        Double rate = rates.get(fault);
        if (rate == null || !name.startsWith(kind) || random.nextDouble() >= rate) {
            return false;
        }
        if (left.containsKey(fault) && left.merge(fault, -1, Integer::sum) < 0) {
            return false;
        }
        injected.get(fault).increment();
        return true;
    }

    @Override
    public SsdFile open(String name) throws IOException {
        return new OpenFile(name, device.open(name));
    }

    @Override
    public SsdFile create(String name, long bytes) throws IOException {
        if (dead || full) {
            throw new IOException(why + ": no file can be made");
        }
        return new OpenFile(name, device.create(name, bytes));
    }

    private final class OpenFile extends ForwardingFile {
        OpenFile(String name, SsdFile file) {
            super(name, file);
        }

        private void pass() throws IOException {
            CountDownLatch closed = gate;
            if (closed.getCount() > 0 && name.startsWith("segment")) {
                held.countDown();
                await(closed);
            }
            if (strikes(name, Fault.STALL)) {
                try {
                    Thread.sleep(stallMillis);
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
            }
        }

        /** The next record, or the next page of an index, of which {@code bytes} bytes are there. */
        private long elsewhere(long offset, int bytes) throws IOException {
            int unit = name.startsWith("segment") ? recordBytes : IndexDescriptor.PAGE_BYTES;
            long next = offset + unit;
            return next + bytes <= file.bytes() ? next : offset % unit;
        }

        /** What lay there before the last write: an older record, or nothing where that was the same. */
        private int stale(ByteBuffer to, long offset) throws IOException {
            int count = to.remaining();
            ByteBuffer now = ByteBuffer.allocate(count);
            file.read(now, offset);
            byte[] old = before.get(name + "@" + offset);
            boolean differs = old != null && old.length == count && !Arrays.equals(old, now.array());
            to.put(differs ? old : new byte[count]);
            return count;
        }

        /** Remembers what is written over. */
        private void keep(ByteBuffer from, long offset) throws IOException {
            ByteBuffer old = ByteBuffer.allocate(from.remaining());
            file.read(old, offset);
            before.put(name + "@" + offset, old.array());
        }

        @Override
        public int read(ByteBuffer to, long offset) throws IOException {
            pass();
            if (strikes(name, Fault.READ_ERROR)) {
                throw new IOException("injected read error");
            }
            if (strikes(name, Fault.SHORT)) {
                ByteBuffer part = to.duplicate().limit(to.position() + to.remaining() / 2);
                int count = file.read(part, offset);
                to.position(part.position());
                return count;
            }
            if (strikes(name, Fault.STALE_READ)) {
                return stale(to, offset);
            }
            return file.read(to, strikes(name, Fault.MISDIRECTED_READ) ? elsewhere(offset, to.remaining()) : offset);
        }

        @Override
        public int write(ByteBuffer from, long offset) throws IOException {
            pass();
            if (dead || strikes(name, Fault.WRITE_ERROR)) {
                throw new IOException(why + ": write error");
            }
            keep(from, offset);
            if (strikes(name, Fault.LOST_WRITE)) {
                int count = from.remaining();
                from.position(from.limit());
                return count;
            }
            if (strikes(name, Fault.SHORT)) {
                ByteBuffer part = from.duplicate().limit(from.position() + from.remaining() / 2);
                int count = file.write(part, offset);
                from.position(part.position());
                return count;
            }
            return file.write(
                    from, strikes(name, Fault.MISDIRECTED_WRITE) ? elsewhere(offset, from.remaining()) : offset);
        }

        @Override
        public void sync() throws IOException {
            if (dead || strikes(name, Fault.SYNC_ERROR)) {
                throw new IOException(why + ": sync error");
            }
            file.sync();
        }
    }
}
