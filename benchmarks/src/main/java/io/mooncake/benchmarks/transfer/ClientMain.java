// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PathReport;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.TransferProtocol;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * The reader's and writer's process: {@code ClientMain TRANSPORT CHECKSUM ADDRESS BYTES} prints {@code READY}, or {@code READY-NOT}
 * with a reason, and takes commands, see {@code ceiling.c}.
 */
final class ClientMain {
    private static final String SECRET = "a secret of the transfer benchmark";

    private ClientMain() {}

    /** Defaults, except that leases last as long as they can. */
    static TransferEngineConfig config(String transport, boolean checksum) {
        return TransferEngineConfig.builder("127.0.0.1", SECRET)
                .maxLeaseMillis(60_000)
                .checksum(checksum)
                .protocol(TransferProtocol.parse(transport))
                .build();
    }

    public static void main(String[] args) throws Exception {
        String transport = args[0];
        TransferEngineConfig config = config(transport, Boolean.parseBoolean(args[1]));
        PeerAddress peer = PeerAddress.parse(args[2]);
        int length = Integer.parseInt(args[3]);
        // As in a pool: what is written over shared memory the owner copies out of it.
        try (BenchMemory memory =
                        transport.equals("shm") ? BenchMemory.shared(length) : BenchMemory.ofPrivatePages(length);
                TransferEngine engine = TransferEngine.start(config)) {
            memory.register(engine);
            PathReport path = engine.path(peer, Deadline.ofMillis(10_000));
            if (transport.equals("shm") && path.reads() != PathReport.Kind.SHARED_MEMORY) {
                System.out.println("READY-NOT " + path.reason());
                return;
            }
            System.out.println("READY");
            serve(new EngineCalls(engine, peer, memory));
        }
        System.exit(0);
    }

    private static void serve(EngineCalls calls) throws IOException {
        Stopwatch stopwatch = new Stopwatch();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            long millis = Long.parseLong(words[6]);
            Stopwatch.Call call = calls.prepare(
                    Operation.parse(words[1]),
                    Long.parseLong(words[2]),
                    Integer.parseInt(words[3]),
                    Integer.parseInt(words[4]),
                    Long.parseLong(words[5]));
            System.out.println(stopwatch.measure(call, millis));
        }
    }
}
