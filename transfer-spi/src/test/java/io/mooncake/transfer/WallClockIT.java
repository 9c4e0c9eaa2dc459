// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.Deadline;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The clock on the wall is set by an hour and by a day, in a process that holds and grants leases; only that process sees it. */
final class WallClockIT {
    /** Stands before the C library: the wall clock is off by the seconds that a file says, the monotonic clock is not. */
    private static final String LIBRARY = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <sys/time.h>
            #include <time.h>
            static long shift(void) {
                char text[32];
                FILE *file = fopen(getenv("WALL_CLOCK_SHIFT"), "r");
                char *read = file ? fgets(text, sizeof text, file) : NULL;
                if (file) fclose(file);
                return read ? atol(text) : 0;
            }
            int clock_gettime(clockid_t clock, struct timespec *out) {
                static int (*real)(clockid_t, struct timespec *);
                if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
                int result = real(clock, out);
                if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) out->tv_sec += shift();
                return result;
            }
            int gettimeofday(struct timeval *restrict out, void *restrict zone) {
                struct timespec now;
                clock_gettime(CLOCK_REALTIME, &now);
                out->tv_sec = now.tv_sec;
                out->tv_usec = now.tv_nsec / 1000;
                return 0;
            }
            time_t time(time_t *out) {
                struct timespec now;
                clock_gettime(CLOCK_REALTIME, &now);
                if (out) *out = now.tv_sec;
                return now.tv_sec;
            }
            """;

    private static final int TERM_MILLIS = 2000;

    @Test
    void wallClock_setByHoursAndDays_changesNoLeaseAndNoDeadline(@TempDir Path folder) throws Exception {
        Path library = library(folder);
        if (library == null) {
            System.out.println("SKIPPING the test of wall clocks that are set: no C compiler");
        }
        assumeTrue(library != null, "a C compiler");
        Path shift = Files.writeString(folder.resolve("shift"), "0");
        List<String> command = new ArrayList<>(OwnerProcess.javaCommand(WallClockIT.class));
        command.add(shift.toString());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("LD_PRELOAD", library.toString());
        builder.environment().put("WALL_CLOCK_SHIFT", shift.toString());
        long before = System.nanoTime();
        Process process = builder.start();
        List<String> lines = new ArrayList<>();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            out.lines().forEach(lines::add);
            assertThat(process.waitFor(180, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(lines)
                .filteredOn(line -> line.startsWith("SET "))
                .as("%s", lines)
                .hasSize(5);
        assertThat(lines).last().isEqualTo("DONE");
        assertThat(process.exitValue()).isZero();
        assertThat(System.nanoTime() - before).isLessThan(180_000_000_000L);
    }

    private static @Nullable Path library(Path folder) throws InterruptedException {
        try {
            Path source = Files.writeString(folder.resolve("wallclock.c"), LIBRARY);
            Path library = folder.resolve("wallclock.so");
            Process compiler = new ProcessBuilder(
                            "cc", "-O1", "-shared", "-fPIC", "-o", library.toString(), source.toString(), "-ldl")
                    .inheritIO()
                    .start();
            return compiler.waitFor() == 0 ? library : null;
        } catch (IOException e) {
            return null;
        }
    }

    // ------------------------------------------------------------------------------------------- the process

    public static void main(String[] args) {
        try {
            run(args);
            System.out.println("DONE");
        } catch (Exception | AssertionError e) {
            e.printStackTrace(System.out);
            Runtime.getRuntime().halt(1);
        }
    }

    private static void run(String[] args) throws Exception {
        TransferEngineConfig config = TransferEngineConfig.of("127.0.0.1", TransferContract.SECRET);
        try (Memory ownerMemory = new Memory(1 << 20);
                Memory readerMemory = new Memory(1 << 20);
                TransferEngine owner = TransferEngine.start(config);
                TransferEngine reader = TransferEngine.start(config)) {
            int region = ownerMemory.register(owner);
            readerMemory.register(reader);
            TestLeases leases = new TestLeases(ownerMemory, region);
            leases.put(1, 0, 100_000, 100_000);
            owner.serveLeases(leases);
            // What a first call costs a new process is not what is measured.
            lease(owner, reader).close();
            TransferContract.await(() -> leases.pinned.get() == 0);
            for (String shift : new String[] {"3600", "-3600", "86400", "-86400", "0"}) {
                long ended = shift(Path.of(args[0]), shift, owner, reader, leases, readerMemory);
                // A process that was held up has seen nothing of the term: once more.
                for (int i = 0; i < 10 && ended < 0; i++) {
                    set(Path.of(args[0]), shift.equals("0") ? "3600" : "0");
                    ended = shift(Path.of(args[0]), shift, owner, reader, leases, readerMemory);
                }
                require(ended >= TERM_MILLIS && ended < TERM_MILLIS + 20_000, true);
                requireDeadline(reader, readerMemory);
                System.out.println("SET " + shift + ": the lease of " + TERM_MILLIS + " ms ended after " + ended);
            }
        }
    }

    /** How many milliseconds after its grant a lease over which the clock is set was unpinned; -1 when this process slept through its end. */
    private static long shift(
            Path file,
            String shift,
            TransferEngine owner,
            TransferEngine reader,
            TestLeases leases,
            Memory readerMemory)
            throws Exception {
        long asked = System.nanoTime();
        RemoteLease lease = lease(owner, reader);
        long leased = System.nanoTime();
        set(file, shift);
        TransferStatus early = read(reader, lease, readerMemory);
        sleepUntil(asked + TERM_MILLIS * 1_000_000L * 3 / 4);
        int pinned = leases.pinned.get();
        TransferStatus late = read(reader, lease, readerMemory);
        // The reader's term ends a little earlier than the owner's.
        boolean inTime = System.nanoTime() - asked < TERM_MILLIS * 1_000_000L * 9 / 10;
        sleepUntil(leased + TERM_MILLIS * 1_000_000L);
        require(read(reader, lease, readerMemory), TransferStatus.LEASE_EXPIRED);
        TransferContract.await(() -> leases.pinned.get() == 0);
        if (!inTime) {
            return -1;
        }
        require(early, TransferStatus.COMPLETED);
        require(pinned, 1);
        require(late, TransferStatus.COMPLETED);
        return (System.nanoTime() - leased) / 1_000_000;
    }

    private static RemoteLease lease(TransferEngine owner, TransferEngine reader) {
        return reader.lease(
                owner.address(),
                "pool",
                List.of(TestLeases.key(1)),
                Duration.ofMillis(TERM_MILLIS),
                Deadline.ofMillis(20_000));
    }

    private static TransferStatus read(TransferEngine reader, RemoteLease lease, Memory memory) {
        return reader.read(
                        lease, List.of(new TransferEngine.ReadRequest(0, memory.address)), Deadline.ofMillis(20_000))[
                0];
    }

    /** A busy machine may hold up one call, not each of them. */
    private static void requireDeadline(TransferEngine reader, Memory memory) throws IOException {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 5 && least >= 200 + 250; i++) {
            try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
                int port = silent.getLocalPort();
                PeerAddress deaf = new PeerAddress(UUID.randomUUID(), "127.0.0.1", port, port, port);
                least = Math.min(least, millisToDeadline(reader, deaf, memory));
            }
        }
        require(least < 200 + 250, true);
    }

    private static long millisToDeadline(TransferEngine reader, PeerAddress deaf, Memory memory) {
        RemoteHandle handle = new RemoteHandle(1, 1, 0, 1000, false, 0, new byte[32]);
        long before = System.nanoTime();
        TransferStatus status = reader.batchTransferSyncRead(
                        deaf,
                        new long[] {memory.address},
                        new RemoteHandle[] {handle},
                        new long[] {1000},
                        Deadline.ofMillis(200))[0];
        long millis = (System.nanoTime() - before) / 1_000_000;
        require(status, TransferStatus.TIMEOUT);
        require(millis >= 200 && millis < 20_000, true);
        return millis;
    }

    private static void sleepUntil(long nanos) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(Math.max(0, nanos - System.nanoTime()));
    }

    /** Sets the clock of this process, and sees to it that it went. */
    private static void set(Path file, String shift) throws Exception {
        long before = System.currentTimeMillis();
        Files.writeString(file, shift);
        long until = System.nanoTime() + 20_000_000_000L;
        while (Math.abs(System.currentTimeMillis() - before) < 1_000_000) {
            require(System.nanoTime() < until, true);
            Thread.sleep(1);
        }
    }

    private static void require(Object value, Object expected) {
        if (!value.equals(expected)) {
            throw new AssertionError(value + " (expected: " + expected + ")");
        }
    }
}
