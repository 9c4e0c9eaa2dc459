// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.natives.CompletionStatus;
import io.mooncake.natives.Verbs;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsDevice.Gid;
import io.mooncake.natives.VerbsQueuePair;
import io.mooncake.natives.VerbsRegistration;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;

/**
 * What the first RDMA device does by itself: a queue pair to the same device, posts and polls, no engine. Started as {@code VerbsMain BYTES};
 * takes the commands that {@link ClientMain} takes.
 */
final class VerbsMain {
    private static final int PORT = 1;
    private static final int DEPTH = VerbsQueuePair.MAX_BATCH;
    private static final int READS = 16;
    private static final int TIMEOUT_CODE = 14;
    private static final int RETRIES = 4;
    /** As the engine has it: one request of the device moves no more. */
    private static final int PIECE_BYTES = 1 << 20;

    private final long[] descriptors = new long[DEPTH * VerbsQueuePair.POST_LONGS];
    private final long[] completions = new long[DEPTH * VerbsQueuePair.COMPLETION_LONGS];
    private final VerbsQueuePair asking;
    private final BenchMemory near;
    private final BenchMemory far;
    private final int localKey;
    private final int remoteKey;

    private VerbsMain(VerbsQueuePair asking, BenchMemory near, BenchMemory far, int localKey, int remoteKey) {
        this.asking = asking;
        this.near = near;
        this.far = far;
        this.localKey = localKey;
        this.remoteKey = remoteKey;
    }

    public static void main(String[] args) throws IOException {
        int length = Integer.parseInt(args[0]);
        int rights = VerbsDevice.REMOTE_READ | VerbsDevice.REMOTE_WRITE;
        try (BenchMemory near = BenchMemory.ofPrivatePages(length);
                BenchMemory far = BenchMemory.ofPrivatePages(length);
                VerbsDevice device = Verbs.open(Verbs.devices().get(0));
                VerbsRegistration own = device.register(near.address, length, VerbsDevice.LOCAL_WRITE);
                VerbsRegistration theirs = device.register(far.address, length, VerbsDevice.LOCAL_WRITE | rights);
                VerbsQueuePair asking = device.createQueuePair(DEPTH);
                VerbsQueuePair answering = device.createQueuePair(DEPTH)) {
            asking.toInit(PORT, 0);
            answering.toInit(PORT, rights);
            connect(device, asking, answering);
            connect(device, answering, asking);
            System.out.println("READY");
            new VerbsMain(asking, near, far, own.localKey(), theirs.remoteKey()).serve();
        }
        System.exit(0);
    }

    private static void connect(VerbsDevice device, VerbsQueuePair one, VerbsQueuePair other) {
        VerbsDevice.Port port = device.port(PORT);
        Gid gid = device.gids(PORT).stream()
                .min(Comparator.comparing((Gid each) -> !each.type().equals("RoCE v2"))
                        .thenComparing(each -> !each.ipv4()))
                .orElseThrow();
        int reads = Math.max(1, Math.min(READS, device.limits().maxReads()));
        one.toReadyToReceive(
                PORT,
                gid.index(),
                new VerbsQueuePair.Peer(gid.bytes(), port.lid(), other.number(), other.number()),
                port.mtu(),
                reads);
        one.toReadyToSend(one.number(), TIMEOUT_CODE, RETRIES, reads);
    }

    private void serve() throws IOException {
        Stopwatch stopwatch = new Stopwatch();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            boolean write = Operation.parse(words[1]) == Operation.WRITE;
            long size = Long.parseLong(words[2]);
            int batch = Integer.parseInt(words[3]);
            int groups = Math.max(1, Integer.parseInt(words[4]) / batch);
            long stride = Long.parseLong(words[5]);
            System.out.println(stopwatch.measure(
                    turn -> move(write, size, batch, (turn % groups) * batch * stride, stride),
                    Long.parseLong(words[6])));
        }
    }

    /** Moves {@code batch} ranges from {@code first} on; the queue is as full as it may be. */
    private void move(boolean write, long size, int batch, long first, long stride) {
        long pieces = (size + PIECE_BYTES - 1) / PIECE_BYTES;
        long total = batch * pieces;
        long posted = 0;
        long arrived = 0;
        while (arrived < total) {
            int count = 0;
            while (posted + count < total && posted + count - arrived < DEPTH) {
                long range = (posted + count) / pieces;
                long within = (posted + count) % pieces * PIECE_BYTES;
                long at = first + range * stride + within;
                VerbsQueuePair.describe(
                        descriptors,
                        count++,
                        0,
                        write,
                        near.address + at,
                        (int) Math.min(PIECE_BYTES, size - within),
                        localKey,
                        far.address + at,
                        remoteKey);
            }
            posted += count > 0 ? asking.post(descriptors, count) : 0;
            int taken = asking.poll(completions);
            for (int i = 0; i < taken; i++) {
                CompletionStatus status = CompletionStatus.of(completions[i * VerbsQueuePair.COMPLETION_LONGS + 1]);
                if (status != CompletionStatus.SUCCESS) {
                    throw new IllegalStateException("a request ended as " + status);
                }
            }
            arrived += taken;
        }
    }
}
