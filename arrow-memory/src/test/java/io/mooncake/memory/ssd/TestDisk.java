// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * A device in memory that remembers in which order it was written to, so that it can be cut off anywhere: {@link #cut} gives the device as a
 * power cut leaves it. It is always honest about what it has taken; {@link FaultyDisk} is not.
 */
final class TestDisk implements SsdDevice {
    static final int SECTOR = 512;
    private static final int CHUNK = 64 << 10;

    /** One thing done to it. */
    private record Event(String name, long offset, byte[] bytes, boolean sync) {}

    private final Map<String, Content> files = new TreeMap<>();
    private final List<Event> events = new ArrayList<>();
    private final boolean recording;
    private volatile long roomBytes = Long.MAX_VALUE;

    TestDisk(boolean recording) {
        this.recording = recording;
    }

    /** Contents in chunks that are shared until they are written to. */
    private static final class Content {
        private final byte[][] chunks;
        private final boolean[] shared;
        private final long bytes;

        Content(long bytes) {
            this.bytes = bytes;
            chunks = new byte[(int) ((bytes + CHUNK - 1) / CHUNK)][];
            shared = new boolean[chunks.length];
        }

        Content(Content other) {
            bytes = other.bytes;
            chunks = other.chunks.clone();
            shared = new boolean[chunks.length];
            Arrays.fill(shared, true);
            Arrays.fill(other.shared, true);
        }

        void write(long offset, byte[] from, int length) {
            for (int done = 0; done < length; ) {
                int chunk = (int) ((offset + done) / CHUNK);
                int at = (int) ((offset + done) % CHUNK);
                int count = Math.min(CHUNK - at, length - done);
                if (chunks[chunk] == null) {
                    chunks[chunk] = new byte[CHUNK];
                } else if (shared[chunk]) {
                    chunks[chunk] = chunks[chunk].clone();
                }
                shared[chunk] = false;
                System.arraycopy(from, done, chunks[chunk], at, count);
                done += count;
            }
        }

        void read(long offset, ByteBuffer to) {
            while (to.hasRemaining()) {
                byte[] chunk = chunks[(int) (offset / CHUNK)];
                int at = (int) (offset % CHUNK);
                int count = Math.min(CHUNK - at, to.remaining());
                if (chunk == null) {
                    to.put(new byte[count]);
                } else {
                    to.put(chunk, at, count);
                }
                offset += count;
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------- cuts

    /** Places at which it can be cut: after each sector written, and after each sync. */
    synchronized int places() {
        int places = 0;
        for (Event event : events) {
            places += sectors(event);
        }
        return places;
    }

    private static int sectors(Event event) {
        return Math.max(1, event.bytes().length / SECTOR);
    }

    /** Events so far; what was acknowledged by now holds for all cuts at or behind {@link #placesBefore}. */
    synchronized int events() {
        return events.size();
    }

    synchronized int placesBefore(int event) {
        int places = 0;
        for (Event one : events.subList(0, event)) {
            places += sectors(one);
        }
        return places;
    }

    /** Walks over the places in order, cheaply. */
    synchronized Cutter cutter() {
        return new Cutter(new ArrayList<>(events));
    }

    /** The device after so and so many sectors: what each file had by its last sync, and what was written since. */
    static final class Cutter {
        /** A sector that may be lost. */
        private record Sector(String name, long offset, byte[] bytes) {}

        private final List<Event> events;
        private final TestDisk synced = new TestDisk(false);
        private final List<Sector> volatiles = new ArrayList<>();
        private int next;
        private int sectorsOfNext;

        Cutter(List<Event> events) {
            this.events = events;
        }

        /** One sector more. */
        void step() {
            Event event = events.get(next);
            if (event.offset() < 0) {
                synced.files.put(event.name(), new Content(-event.offset() - 1));
            } else if (event.sync()) {
                volatiles.stream()
                        .filter(one -> one.name().equals(event.name()))
                        .forEach(one -> apply(one, synced));
                volatiles.removeIf(one -> one.name().equals(event.name()));
            } else {
                int at = sectorsOfNext * SECTOR;
                byte[] bytes = Arrays.copyOfRange(event.bytes(), at, at + SECTOR);
                volatiles.add(new Sector(event.name(), event.offset() + at, bytes));
            }
            if (++sectorsOfNext >= sectors(event)) {
                sectorsOfNext = 0;
                next++;
            }
        }

        private static void apply(Sector sector, TestDisk disk) {
            disk.files.get(sector.name()).write(sector.offset(), sector.bytes(), SECTOR);
        }

        /** The device if it wrote in order; it may be written to. */
        TestDisk inOrder() {
            TestDisk image = synced.copy();
            volatiles.forEach(sector -> apply(sector, image));
            return image;
        }

        /** The device if it wrote any of the sectors that were not synced. */
        TestDisk anyOrder(SplittableRandom random) {
            TestDisk image = synced.copy();
            volatiles.stream().filter(sector -> random.nextBoolean()).forEach(sector -> apply(sector, image));
            return image;
        }
    }

    /** The bytes as they are now, whatever is synced: another device. */
    synchronized TestDisk copy() {
        TestDisk image = new TestDisk(false);
        files.forEach((name, content) -> image.files.put(name, new Content(content)));
        return image;
    }

    // ---------------------------------------------------------------------------------------------- a hand at rest

    /** Flips one bit. */
    synchronized void flip(String name, long bit) {
        byte[] sector = bytes(name, bit / 8, 1);
        sector[0] ^= (byte) (1 << (bit % 8));
        files.get(name).write(bit / 8, sector, 1);
    }

    synchronized byte[] bytes(String name, long offset, int length) {
        ByteBuffer to = ByteBuffer.allocate(length);
        files.get(name).read(offset, to);
        return to.array();
    }

    synchronized void overwrite(String name, long offset, byte[] bytes) {
        files.get(name).write(offset, bytes, bytes.length);
    }

    /** Bytes that {@link #hasRoom} still grants. */
    void room(long bytes) {
        roomBytes = bytes;
    }

    // ------------------------------------------------------------------------------------------------------ device

    @Override
    public synchronized List<String> names() {
        return List.copyOf(files.keySet());
    }

    @Override
    public synchronized SsdFile open(String name) throws IOException {
        if (!files.containsKey(name)) {
            throw new IOException(name + " is not there");
        }
        return new OpenFile(name);
    }

    @Override
    public synchronized SsdFile create(String name, long bytes) {
        files.put(name, new Content(bytes));
        if (recording) {
            events.add(new Event(name, -bytes - 1, new byte[0], false));
        }
        return new OpenFile(name);
    }

    @Override
    public synchronized void delete(String name) {
        files.remove(name);
    }

    @Override
    public boolean hasRoom(long bytes) {
        return bytes <= roomBytes;
    }

    @Override
    public boolean direct() {
        return true;
    }

    @Override
    public void close() {}

    private final class OpenFile implements SsdFile {
        private final String name;

        OpenFile(String name) {
            this.name = name;
        }

        @Override
        public long bytes() {
            synchronized (TestDisk.this) {
                return files.get(name).bytes;
            }
        }

        @Override
        public int read(ByteBuffer to, long offset) {
            synchronized (TestDisk.this) {
                int count = to.remaining();
                files.get(name).read(offset, to);
                return count;
            }
        }

        @Override
        public int write(ByteBuffer from, long offset) {
            byte[] bytes = new byte[from.remaining()];
            from.get(bytes);
            synchronized (TestDisk.this) {
                files.get(name).write(offset, bytes, bytes.length);
                if (recording) {
                    events.add(new Event(name, offset, bytes, false));
                }
            }
            return bytes.length;
        }

        @Override
        public void sync() {
            synchronized (TestDisk.this) {
                if (recording) {
                    events.add(new Event(name, 0, new byte[0], true));
                }
            }
        }

        @Override
        public void close() {}
    }
}
