// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.mooncake.transfer.LeaseSource;
import io.mooncake.transfer.TransferEngine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import sun.misc.Unsafe;

/** An engine in a JVM of its own that is known by its name alone, and leases one block of bytes to whoever asks for any key. */
final class NamedEngineProcess implements AutoCloseable {
    static final int BLOCK = 1 << 20;

    private static final int SEGMENT = 64 << 10;

    private final Process process;

    private NamedEngineProcess(Process process) {
        this.process = process;
    }

    static NamedEngineProcess start(String name, String metadataServer, String secret, int fill) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-opens=java.base/java.nio=ALL-UNNAMED",
                "-Xmx128m",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                NamedEngineProcess.class.getName(),
                name,
                metadataServer,
                Integer.toString(fill));
        builder.environment().put("MOONCAKE_SECRET", secret);
        Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = out.readLine();
        while (line != null && !line.equals("READY")) {
            line = out.readLine();
        }
        if (line == null) {
            throw new IOException("the engine's process did not start");
        }
        return new NamedEngineProcess(process);
    }

    public static void main(String[] args) throws Exception {
        Unsafe unsafe = unsafe();
        long address = unsafe.allocateMemory(BLOCK);
        unsafe.setMemory(address, BLOCK, (byte) Integer.parseInt(args[2]));
        byte[] segment = new byte[SEGMENT];
        java.util.Arrays.fill(segment, (byte) Integer.parseInt(args[2]));
        CRC32C crc = new CRC32C();
        crc.update(segment);
        int[] checksums = new int[BLOCK / SEGMENT];
        java.util.Arrays.fill(checksums, (int) crc.getValue());
        try (TransferEngine engine = TransferEngine.initialize(args[0], args[1], "tcp", "")) {
            int region = engine.registerMemory(address, BLOCK, (offset, bytes, generation) -> true);
            engine.serveLeases((UUID peer, String namespace, List<byte[]> keys) -> {
                List<LeaseSource.Pin> pins = new ArrayList<>();
                keys.forEach(key -> pins.add(new Block(region, checksums)));
                return pins;
            });
            System.out.println("READY");
            while (System.in.read() >= 0) {}
        }
    }

    static Unsafe unsafe() throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }

    /** All of the memory. */
    private record Block(int region, int[] checksums) implements LeaseSource.Pin {
        @Override
        public long generation() {
            return 1;
        }

        @Override
        public long offset() {
            return 0;
        }

        @Override
        public int length() {
            return BLOCK;
        }

        @Override
        public int segmentLength() {
            return SEGMENT;
        }

        @Override
        public byte[] description() {
            return new byte[0];
        }

        @Override
        public void close() {}
    }

    /** kill -9. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
    }

    /** Ends its input, upon which it closes the engine. */
    void stop() throws IOException, InterruptedException {
        process.getOutputStream().close();
        process.waitFor(20, TimeUnit.SECONDS);
    }

    @Override
    public void close() throws InterruptedException {
        kill();
    }
}
