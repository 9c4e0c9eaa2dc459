// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A process that writes to a store until it is killed, and says what it may rely on: {@code SYNCED n} when record n is synced, {@code REMOVING n}
 * before it is removed.
 *
 * <p>Arguments: {@code load FOLDER FIRST SEED}, under load; {@code recover FOLDER FIRST SEED}, which reads all records before and says {@code FOUND
 * n} or {@code BAD n}, and {@code forget}, the same without any sync; {@code try FOLDER}: opens and says how that went; or {@code point FOLDER NUMBER APPEND STEP}: puts records one by one, and stops for
 * good in the last one, before the STEP-th thing that it does to the device (a write counts twice: half of it, and all).
 */
public final class SsdWriterMain {
    static final int RECORD = 64 << 10;
    static final int SLOTS = 48;
    private static final int WRITERS = 2;

    private static final PrintStream OUT =
            new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true);

    private SsdWriterMain() {}

    static SsdSettings settings(Path folder) {
        return Records.settings(folder, RECORD, SLOTS)
                .ioThreads(2)
                .commitMillis(1)
                .build();
    }

    /** A line that arrives whole or not at all. */
    private static void say(String line) {
        byte[] bytes = (line + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (OUT) {
            OUT.write(bytes, 0, bytes.length);
            OUT.flush();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[1]);
        if (arguments[0].equals("load")) {
            load(SsdStore.open(settings(folder)), arguments);
        } else if (arguments[0].equals("recover")) {
            SsdStore store = SsdStore.open(settings(folder));
            read(store);
            load(store, arguments);
        } else if (arguments[0].equals("forget")) {
            SsdSettings settings = settings(folder);
            SsdDevice device = new ForgetfulDevice(FileDevice.open(settings));
            SsdStore store = SsdStore.open(settings, device, System::nanoTime, SsdChecks.ALL);
            read(store);
            load(store, arguments);
        } else if (arguments[0].equals("try")) {
            try (SsdStore store = SsdStore.open(settings(folder))) {
                say("OPEN " + store.slots());
            } catch (MooncakeException e) {
                say("REFUSED " + e.getMessage());
            }
        } else {
            point(
                    folder,
                    Long.parseLong(arguments[2]),
                    Boolean.parseBoolean(arguments[3]),
                    Integer.parseInt(arguments[4]));
        }
    }

    private static void read(SsdStore store) {
        List<Long> numbers = new ArrayList<>();
        store.forEach((key, generation) -> numbers.add(Records.number(key)));
        for (long number : numbers) {
            SsdOutcome outcome = Records.load(store, number);
            say(outcome == SsdOutcome.LOADED ? "FOUND " + number : "BAD " + number + " " + outcome);
        }
    }

    private static void load(SsdStore store, String[] arguments) throws InterruptedException {
        SplittableRandom random = new SplittableRandom(Long.parseLong(arguments[3]));
        ArrayDeque<Long> there = new ArrayDeque<>();
        store.forEach((key, generation) -> there.add(Records.number(key)));
        AtomicLong next = new AtomicLong(Long.parseLong(arguments[2]));
        say("OPEN");
        Thread[] writers = new Thread[WRITERS];
        for (int i = 0; i < WRITERS; i++) {
            SplittableRandom own = random.split();
            writers[i] = new Thread(() -> {
                while (true) {
                    write(store, there, next.getAndIncrement(), own);
                }
            });
            writers[i].start();
        }
        for (Thread writer : writers) {
            writer.join();
        }
    }

    private static void write(SsdStore store, ArrayDeque<Long> there, long number, SplittableRandom random) {
        while (true) {
            boolean synced = random.nextInt(4) != 0;
            SsdOutcome outcome = Records.put(store, number, synced ? SsdTicket.Until.SYNCED : SsdTicket.Until.STORED);
            if (outcome != SsdOutcome.FULL) {
                if (outcome == SsdOutcome.SYNCED) {
                    say("SYNCED " + number);
                }
                synchronized (there) {
                    there.add(number);
                }
                return;
            }
            Long victim;
            synchronized (there) {
                victim = there.poll();
            }
            if (victim != null) {
                say("REMOVING " + victim);
                store.remove(Records.key(victim));
                store.flush(Records.soon());
            }
        }
    }

    private static void point(Path folder, long number, boolean append, int step) {
        StoppingDevice device = new StoppingDevice(FileDevice.open(settings(folder)));
        SsdStore store = SsdStore.open(settings(folder), device, System::nanoTime, SsdChecks.ALL);
        if (append) {
            // The first commit after opening writes the index anew, the second one adds to it.
            Records.putSynced(store, number++);
        }
        device.left.set(step);
        Records.putSynced(store, number);
        device.left.set(Integer.MAX_VALUE);
        say("DONE");
    }

    /** Says that it is synced when it is not. */
    private static final class ForgetfulDevice extends ForwardingDevice {
        ForgetfulDevice(SsdDevice device) {
            super(device);
        }

        @Override
        public SsdFile open(String name) throws IOException {
            return new ForgetfulFile(name, device.open(name));
        }

        @Override
        public SsdFile create(String name, long bytes) throws IOException {
            return new ForgetfulFile(name, device.create(name, bytes));
        }

        private static final class ForgetfulFile extends ForwardingFile {
            ForgetfulFile(String name, SsdFile file) {
                super(name, file);
            }

            @Override
            public void sync() {}
        }
    }

    /** Stops the process, as far as the device is concerned, before it does a certain thing. */
    private static final class StoppingDevice extends ForwardingDevice {
        private final AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);

        StoppingDevice(SsdDevice device) {
            super(device);
        }

        private void step(String what) {
            if (left.get() != Integer.MAX_VALUE && left.getAndDecrement() == 0) {
                say("AT " + what);
                while (true) {
                    java.util.concurrent.locks.LockSupport.park();
                }
            }
        }

        @Override
        public SsdFile open(String name) throws IOException {
            return new StoppingFile(name, device.open(name));
        }

        @Override
        public SsdFile create(String name, long bytes) throws IOException {
            step("create " + name);
            SsdFile file = device.create(name, bytes);
            step("created " + name);
            return new StoppingFile(name, file);
        }

        private final class StoppingFile extends ForwardingFile {
            StoppingFile(String name, SsdFile file) {
                super(name, file);
            }

            @Override
            public int write(ByteBuffer from, long offset) throws IOException {
                step("write " + name + " " + offset);
                int half = from.remaining() / 2 & -SsdSettings.ALIGNMENT;
                if (half > 0) {
                    file.write(from.duplicate().limit(from.position() + half), offset);
                    step("half written " + name + " " + offset);
                }
                return file.write(from, offset);
            }

            @Override
            public void sync() throws IOException {
                step("sync " + name);
                file.sync();
                step("synced " + name);
            }
        }
    }
}
