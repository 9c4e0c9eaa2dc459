// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.TransferEngine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * The owner's process: {@code OwnerMain TRANSPORT BYTES} registers memory, prints {@code READY ADDRESS FILE}, and serves until its input ends.
 * To {@code allocated} it answers with the bytes that its other threads have allocated.
 */
final class OwnerMain {
    private OwnerMain() {}

    public static void main(String[] args) throws IOException {
        String transport = args[0];
        int length = Integer.parseInt(args[1]);
        boolean shared = transport.equals("shm");
        if (shared) {
            SharedFile.removeOrphans(SharedFile.DEFAULT_FOLDER);
        }
        try (BenchMemory memory = shared ? BenchMemory.shared(length) : BenchMemory.ofPrivatePages(length);
                TransferEngine engine = TransferEngine.start(ClientMain.config(transport, true))) {
            int region = memory.register(engine);
            engine.serveLeases(new BenchLeases(memory, region));
            engine.control()
                    .handle(
                            HandleFrames.SERVICE,
                            (peer, request) -> HandleFrames.reply(engine, peer, region, memory.generation(), request));
            System.out.println("READY " + engine.address().encode() + " " + memory.path());
            Stopwatch stopwatch = new Stopwatch();
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println("allocated "
                        + stopwatch.allocatedBytes(Thread.currentThread().getId()));
            }
        }
        // What still lingers must not hold the memory.
        System.exit(0);
    }
}
