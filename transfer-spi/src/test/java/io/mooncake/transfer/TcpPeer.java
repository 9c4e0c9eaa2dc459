// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * An engine in a process of its own, in a network namespace perhaps: {@code owner} serves memory until its input ends, {@code reader} reads
 * and writes it as its input says. {@code loop} is the two of them on this machine, as a stopwatch for development.
 */
final class TcpPeer {
    static final int SIZE = 64 << 20;
    private static final int NAME = 7;

    private TcpPeer() {}

    public static void main(String[] args) throws IOException {
        switch (args[0]) {
            case "owner" -> own(UUID.fromString(args[1]), config(args[2], args[3], args[4]));
            case "reader" -> read(config(args[1], args[2], args[3]));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static TransferEngineConfig config(String ports, String connections, String hosts) {
        List<String> all = List.of(hosts.split(","));
        int from = Integer.parseInt(ports);
        return TransferEngineConfig.builder(all.get(0), TransferContract.SECRET)
                .ports(from, from + 99)
                .connectionsPerPeer(Integer.parseInt(connections))
                .protocol(TransferProtocol.TCP)
                .rails(all.subList(1, all.size()))
                .build();
    }

    private static void own(UUID reader, TransferEngineConfig config) throws IOException {
        try (Memory memory = new Memory(SIZE);
                TransferEngine engine = TransferEngine.start(config)) {
            memory.fill(NAME, 0, SIZE);
            int region = engine.registerMemory(memory.address, SIZE, memory.guard());
            RemoteHandle handle = engine.issueHandle(reader, region, 1, 0, SIZE, true, Duration.ofSeconds(60));
            System.out.println("READY " + engine.address().encode() + " " + region + " " + handle.expiresAtNanos() + " "
                    + Base64.getEncoder().encodeToString(handle.capability()));
            while (System.in.read() >= 0) {
                Thread.onSpinWait();
            }
        }
    }

    private static void read(TransferEngineConfig config) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Memory memory = new Memory(SIZE);
                TransferEngine engine = TransferEngine.start(config)) {
            memory.fill(NAME, 0, SIZE);
            engine.registerMemory(memory.address, SIZE, memory.guard());
            System.out.println("READY " + engine.incarnation());
            Reader reader = new Reader(engine, memory);
            String line = in.readLine();
            while (line != null) {
                System.out.println(reader.answer(line.split(" ")));
                line = in.readLine();
            }
        }
    }

    private static final class Reader {
        private final TransferEngine engine;
        private final Memory memory;
        private PeerAddress owner;
        private RemoteHandle handle;

        Reader(TransferEngine engine, Memory memory) {
            this.engine = engine;
            this.memory = memory;
        }

        String answer(String[] words) {
            return switch (words[0]) {
                case "peer" -> peer(words);
                case "move" -> move(words[1].equals("write"), Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                case "clock" -> clock(words[1].equals("write"), Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                default -> throw new IllegalArgumentException(words[0]);
            };
        }

        private String peer(String[] words) {
            owner = PeerAddress.parse(words[1]);
            handle = new RemoteHandle(
                    Integer.parseInt(words[2]),
                    1,
                    0,
                    SIZE,
                    true,
                    Long.parseLong(words[3]),
                    Base64.getDecoder().decode(words[4]));
            return "PEER";
        }

        private TransferStatus one(boolean write, long[] addresses, RemoteHandle[] handles, long[] sizes) {
            Deadline deadline = Deadline.ofMillis(20_000);
            return write
                    ? engine.batchTransferSyncWrite(owner, addresses, handles, sizes, deadline)[0]
                    : engine.batchTransferSyncRead(owner, addresses, handles, sizes, deadline)[0];
        }

        /** Moves {@code size} bytes again and again; says how many bytes each fifth of a second had, and how many calls failed. */
        private String move(boolean write, int size, int millis) {
            long[] addresses = {memory.address};
            RemoteHandle[] handles = {handle};
            long[] sizes = {size};
            long start = System.nanoTime();
            long[] moved = new long[millis / 200 + 200];
            int failed = 0;
            int wrong = 0;
            while (System.nanoTime() - start < millis * 1_000_000L) {
                if (!write) {
                    memory.fill(1, 0, 4096);
                }
                if (one(write, addresses, handles, sizes) != TransferStatus.COMPLETED) {
                    failed++;
                } else {
                    moved[(int) ((System.nanoTime() - start) / 200_000_000L)] += size;
                    wrong += memory.holds(NAME, 0, 4096) ? 0 : 1;
                }
            }
            long elapsed = (System.nanoTime() - start) / 1_000_000;
            wrong += memory.holds(NAME, 0, size) ? 0 : 1;
            int last = moved.length;
            while (last > 1 && moved[last - 1] == 0) {
                last--;
            }
            engine.rails(owner).forEach(rail -> System.err.println(rail));
            long railFailures = engine.rails(owner).stream()
                    .mapToLong(RailStatistics::failures)
                    .sum();
            String railBytes = engine.rails(owner).stream()
                    .map(rail -> Long.toString(rail.bytes()))
                    .collect(Collectors.joining(","));
            return "MOVED " + failed + " " + wrong + " " + elapsed + " "
                    + Arrays.toString(Arrays.copyOf(moved, last)).replaceAll("[\\[\\] ]", "") + " " + railFailures + " "
                    + railBytes;
        }

        private String clock(boolean write, int size, int millis) {
            long[] addresses = {memory.address};
            RemoteHandle[] handles = {handle};
            long[] sizes = {size};
            long[] nanos = new long[2_000_000];
            int count = 0;
            long start = System.nanoTime();
            long now = start;
            while (now - start < millis * 1_000_000L && count < nanos.length) {
                if (one(write, addresses, handles, sizes) != TransferStatus.COMPLETED) {
                    return "CLOCK failed";
                }
                long end = System.nanoTime();
                nanos[count++] = end - now;
                now = end;
            }
            Arrays.sort(nanos, 0, count);
            return String.format(
                    Locale.ROOT,
                    "CLOCK %s %d bytes: %d calls, median %.1f us, p10 %.1f us, p99 %.1f us, %.2f GB/s",
                    write ? "write" : "read",
                    size,
                    count,
                    nanos[count / 2] / 1e3,
                    nanos[count / 10] / 1e3,
                    nanos[(int) (count * 0.99)] / 1e3,
                    (double) size * count / (now - start));
        }
    }
}
