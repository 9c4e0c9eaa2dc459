// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The processes of one transport, and who takes part in its lines. Ownership: the caller owes a close. */
final class Field implements AutoCloseable {
    private static final long START_MILLIS = 180_000;
    /** Smaller single transfers gain nothing from being split. */
    private static final long SPLIT_BYTES = 64L << 10;

    private final TransferSettings settings;
    private final List<ChildProcess> children = new ArrayList<>();
    private final List<Contender> contenders = new ArrayList<>();

    private Field(TransferSettings settings) {
        this.settings = settings;
    }

    List<Contender> contenders() {
        return contenders;
    }

    /** The engine over TCP, C over as many connections, and the peer. */
    static Field tcp(TransferSettings settings, CeilingProgram ceiling, PeerProgram peer) {
        Field field = new Field(settings);
        try {
            field.engine("tcp");
            if (ceiling.reason().isEmpty()) {
                field.ceilingOverTcp(ceiling.program().toString());
            }
            if (peer.reason().isEmpty()) {
                field.peer(peer);
            }
            return field;
        } catch (RuntimeException e) {
            field.close();
            throw e;
        }
    }

    /** The engine over shared memory with and without checksums, and a C program that copies out of the same memory. */
    static Field shm(TransferSettings settings, CeilingProgram ceiling) {
        Field field = new Field(settings);
        try {
            String file = field.engine("shm");
            if (ceiling.reason().isEmpty()) {
                ChildProcess copy = field.child(
                        "ceiling-copy",
                        Map.of(),
                        ceiling.program().toString(),
                        "copy",
                        file,
                        Integer.toString(BenchMemory.HEAD_BYTES),
                        field.memory());
                copy.await("READY", START_MILLIS);
                field.contenders.add(new Contender(
                        "memcpy",
                        Contender.Role.CEILING,
                        copy,
                        null,
                        cell -> cell.operation() == Operation.WRITE ? "write" : "read"));
                field.contenders.add(new Contender(
                        "memcpy and CRC32C",
                        Contender.Role.NOTE,
                        copy,
                        null,
                        cell -> cell.operation() == Operation.LEASED_READ ? "crc" : null));
            }
            return field;
        } catch (RuntimeException e) {
            field.close();
            throw e;
        }
    }

    /** The engine over RDMA, and the first device by itself. */
    static Field rdma(TransferSettings settings) {
        Field field = new Field(settings);
        try {
            field.engine("rdma");
            ChildProcess verbs = field.java("VerbsMain", "ceiling-verbs", field.memory());
            verbs.await("READY", START_MILLIS);
            field.contenders.add(new Contender("verbs", Contender.Role.CEILING, verbs, null, Field::plain));
            return field;
        } catch (RuntimeException e) {
            field.close();
            throw e;
        }
    }

    private String memory() {
        return Integer.toString(settings.memoryBytes());
    }

    /** Starts owner and clients; returns the file of the owner's memory. */
    private String engine(String transport) {
        ChildProcess owner = java("OwnerMain", transport + "-owner", transport, memory());
        String[] ready = owner.await("READY", START_MILLIS).split(" ");
        client(transport, owner, ready[1], true);
        if (transport.equals("shm")) {
            client(transport, owner, ready[1], false);
        }
        return ready[2];
    }

    private void client(String transport, ChildProcess owner, String address, boolean checksum) {
        ChildProcess client = java(
                "ClientMain",
                transport + "-client" + (checksum ? "" : "-unchecked"),
                transport,
                Boolean.toString(checksum),
                address,
                memory());
        String answer = client.await("READY", START_MILLIS);
        if (!answer.equals("READY")) {
            throw new Refusal(transport + ": " + answer.substring("READY-NOT ".length()));
        }
        contenders.add(new Contender("engine", Contender.Role.OURS, client, owner, cell -> {
            boolean unchecked = cell.operation() == Operation.LEASED_READ_UNCHECKED;
            return unchecked == checksum ? null : cell.operation().text();
        }));
    }

    private void ceilingOverTcp(String program) {
        ChildProcess owner = child("ceiling-owner", Map.of(), program, "owner", memory());
        String port = owner.await("READY", START_MILLIS).split(" ")[1];
        ChildProcess client = child(
                "ceiling-client",
                Map.of(),
                program,
                "client",
                port,
                Integer.toString(settings.connections()),
                memory());
        client.await("READY", START_MILLIS);
        contenders.add(new Contender(
                "C, " + settings.connections() + " connections",
                Contender.Role.CEILING,
                client,
                null,
                cell -> cell.batch() == 1 && cell.size() <= SPLIT_BYTES ? null : plain(cell)));
        contenders.add(new Contender(
                "C, 1 connection",
                Contender.Role.CEILING,
                client,
                null,
                cell -> cell.batch() > 1 ? null : plain(cell) + "1"));
    }

    private static String plain(Cell cell) {
        return cell.operation() == Operation.WRITE ? "write" : "read";
    }

    private void peer(PeerProgram peer) {
        String python = peer.python().toString();
        String script = peer.script().toString();
        ChildProcess owner = child("peer-owner", PeerProgram.ENVIRONMENT, python, script, "owner", memory());
        String[] ready = owner.await("READY", START_MILLIS).split(" ");
        ChildProcess client =
                child("peer-client", PeerProgram.ENVIRONMENT, python, script, "client", ready[1], ready[2], memory());
        client.await("READY", START_MILLIS);
        contenders.add(new Contender(
                "Mooncake",
                Contender.Role.PEER,
                client,
                null,
                cell -> cell.operation().leased() ? null : plain(cell)));
    }

    private ChildProcess java(String main, String name, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Home.folder("jvm.args"),
                "-Xms256m",
                "-Xmx256m",
                "-XX:MaxDirectMemorySize=2g",
                "-XX:+ExitOnOutOfMemoryError",
                "-Dmooncake.home=" + Home.root(),
                "-Dlogback.configurationFile=logback-file.xml",
                "-Dmooncake.log.file=" + Home.folder("target/bench/logs/transfer-" + name + ".log"),
                "-cp",
                System.getProperty("java.class.path"),
                getClass().getPackageName() + "." + main));
        command.addAll(List.of(arguments));
        return child(name, Map.of(), command.toArray(String[]::new));
    }

    private ChildProcess child(String name, Map<String, String> environment, String... command) {
        ChildProcess child = ChildProcess.start(
                name, List.of(command), environment, Home.folder("target/bench/logs/transfer-" + name + ".err"));
        children.add(child);
        return child;
    }

    /** Takes a contender that failed out of all further lines. */
    void drop(@Nullable Contender failed) {
        contenders.remove(failed);
    }

    @Override
    public void close() {
        for (int i = children.size() - 1; i >= 0; i--) {
            children.get(i).close();
        }
    }
}
