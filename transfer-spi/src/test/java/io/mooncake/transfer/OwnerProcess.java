// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.SharedFile;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** An owner of memory in a JVM of its own: serves key 0..15, each of {@link #BLOCK} bytes in segments of 64 KiB, until its input ends. */
final class OwnerProcess implements AutoCloseable {
    static final int KEYS = 16;
    /** Less where a processor is emulated. */
    static final int BLOCK = Integer.getInteger("mooncake.blockMiB", 4) << 20;

    static final int SEGMENT = 64 << 10;

    private final Process process;
    final PeerAddress address;
    /** A read-only handle over everything, for the reader that was named. */
    final RemoteHandle handle;

    private OwnerProcess(Process process, PeerAddress address, RemoteHandle handle) {
        this.process = process;
        this.address = address;
        this.handle = handle;
    }

    static OwnerProcess start(UUID reader, int portFrom, int portTo) throws IOException {
        return start(reader, portFrom, portTo, "tcp");
    }

    /** @param transport {@code tcp}, {@code rdma}, {@code shm} for memory that this process can map, or {@code shm-writable} */
    static OwnerProcess start(UUID reader, int portFrom, int portTo, String transport) throws IOException {
        return start(reader, portFrom, portTo, transport, List.of());
    }

    /** @param launcher words in front of the command; what they run must replace itself by the JVM */
    static OwnerProcess start(UUID reader, int portFrom, int portTo, String transport, List<String> launcher)
            throws IOException {
        List<String> command = new ArrayList<>(launcher);
        command.addAll(javaCommand(OwnerProcess.class));
        command.addAll(List.of(reader.toString(), Integer.toString(portFrom), Integer.toString(portTo), transport));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        return started(process, transport);
    }

    /** Runs the main method of a class of the tests in a JVM of its own. */
    static List<String> javaCommand(Class<?> main) {
        Path flags =
                Path.of(System.getProperty("user.dir")).resolve("../jvm.args").normalize();
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        if (Files.exists(flags)) {
            command.add("@" + flags);
        } else {
            command.add("--add-opens=java.base/java.nio=ALL-UNNAMED");
        }
        command.addAll(List.of(
                "-Xmx256m",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                main.getName()));
        return command;
    }

    private static OwnerProcess started(Process process, String transport) throws IOException {
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = out.readLine();
        while (line != null && !line.startsWith("READY ")) {
            line = out.readLine();
        }
        if (line == null) {
            throw new IOException("the owner's process did not start");
        }
        String[] words = line.split(" ");
        PeerAddress address = PeerAddress.parse(words[1]);
        RemoteHandle handle = new RemoteHandle(
                Integer.parseInt(words[2]),
                1,
                0,
                (long) KEYS * BLOCK,
                transport.equals("shm-writable"),
                Long.parseLong(words[3]),
                Base64.getDecoder().decode(words[4]));
        return new OwnerProcess(process, address, handle);
    }

    static TransferEngineConfig config(int portFrom, int portTo, String protocol) {
        return TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .ports(portFrom, portTo)
                .maxLeaseMillis(60_000)
                .protocol(TransferProtocol.parse(protocol))
                .build();
    }

    /** Registers all of {@code memory} and serves a key for each block of it; its region. */
    static int serve(TransferEngine engine, Memory memory) {
        int region = memory.register(engine);
        TestLeases leases = new TestLeases(memory, region);
        for (int key = 0; key < memory.length / BLOCK; key++) {
            leases.put(key, key * BLOCK, BLOCK, SEGMENT);
        }
        engine.serveLeases(leases);
        return region;
    }

    public static void main(String[] args) throws IOException {
        TransferEngineConfig config =
                config(Integer.parseInt(args[1]), Integer.parseInt(args[2]), args[3].replace("-writable", ""));
        boolean shared = args[3].startsWith("shm");
        if (shared) {
            SharedFile.removeOrphans(SharedFile.DEFAULT_FOLDER);
        }
        Memory memory = new Memory(KEYS * BLOCK, shared ? SharedFile.DEFAULT_FOLDER : null);
        try (TransferEngine engine = TransferEngine.start(config)) {
            int region = serve(engine, memory);
            RemoteHandle handle = engine.issueHandle(
                    UUID.fromString(args[0]),
                    region,
                    1,
                    0,
                    memory.length,
                    args[3].equals("shm-writable"),
                    Duration.ofSeconds(60));
            System.out.println("READY " + engine.address().encode() + " " + region + " " + handle.expiresAtNanos() + " "
                    + Base64.getEncoder().encodeToString(handle.capability()));
            while (System.in.read() >= 0) {
                engine.control().publish("tick", new byte[] {1});
            }
        }
    }

    long pid() {
        return process.pid();
    }

    void signal(String name) throws IOException, InterruptedException {
        signal(name, process);
    }

    /** Sends a signal; after STOP, returns when every thread has stopped, which the kernel does not promise at once. */
    static void signal(String name, Process process) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .inheritIO()
                .start()
                .waitFor();
        long until = System.nanoTime() + 10_000_000_000L;
        while (name.equals("STOP") && !stopped(process) && System.nanoTime() - until < 0) {
            Thread.sleep(1);
        }
    }

    private static boolean stopped(Process process) throws IOException {
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
            for (Path thread : threads.toList()) {
                // The state is the first letter behind the name in brackets.
                String stat = Files.readString(thread.resolve("stat"));
                if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
                    return false;
                }
            }
        } catch (NoSuchFileException e) {
            return false;
        }
        return true;
    }

    /** kill -9, and waits until it is dead. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor(10, TimeUnit.SECONDS);
    }

    @Override
    public void close() throws InterruptedException {
        kill();
    }
}
