// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.client.MooncakeService;
import io.mooncake.ignite.JobContext;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.conductor.Blocks;
import io.mooncake.ignite.node.NodeEngines;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import trap.Trap;
import trap.TrapJob;

/** A class that nobody listed, sent to each endpoint of ours that takes bytes: it is never made, and the node goes on. */
class UnlistedClassTest {
    private static final String POOL = "tiny";

    @TempDir
    static Path folder;

    private static TestGrid grid;
    private static Ignite open;
    private static Ignite closed;

    @BeforeAll
    static void start() throws IOException {
        grid = new TestGrid();
        Path listed = Files.writeString(folder.resolve("classes.txt"), "# what the open node takes\n\ntrap.**\n");
        open = grid.start("open", grid.provider().setJobClasses("file:" + listed));
        closed = grid.start("closed", config -> config.setPluginProviders(grid.provider())
                .setClientConnectorConfiguration(new ClientConnectorConfiguration()
                        .setHost("127.0.0.1")
                        .setPort(grid.connectorPort(0))
                        .setPortRange(0)
                        .setHandshakeTimeout(120_000)));
        TestGrid.await(
                "the nodes know each other",
                () -> Mooncake.of(open).storeNodes().size() == 2
                        && Mooncake.of(closed).storeNodes().size() == 2);
    }

    @AfterAll
    static void stop() {
        grid.close();
    }

    private static Route to(Ignite node) {
        UUID id = node.cluster().localNode().id();
        return Route.of(POOL, new int[] {1}).onNode(id);
    }

    private static <R> R ask(Ignite from, Ignite node, RoutedJob<R> job) throws Exception {
        return Mooncake.of(from).submit(to(node), job).toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    private static void assertDenied(Ignite from, Ignite node, RoutedJob<?> job, String name) {
        int before = Trap.SPRUNG.get();
        assertThatThrownBy(() -> ask(from, node, job))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(MooncakeException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("jobClasses");
        assertThat(Trap.SPRUNG.get()).isEqualTo(before);
    }

    /** Ours, with something in it that is not. */
    private record Holding(Serializable held) implements RoutedJob<String> {
        @Override
        public String run(JobContext context) {
            return "ran";
        }
    }

    /** Ours, and answers with something that is not. */
    private record Answering(boolean fails) implements RoutedJob<Object> {
        @Override
        public Object run(JobContext context) {
            if (fails) {
                throw new CompletionException(new IllegalStateException("with more", new Trap.Failure()));
            }
            return List.of(new Trap("in an answer"));
        }
    }

    @Test
    void job_ofAnUnlistedClass_isDeniedWhereItIsNotListed() throws Exception {
        assertDenied(open, closed, new TrapJob(), "trap.TrapJob");
        assertThat(ask(closed, open, new TrapJob())).isEqualTo("ran");
    }

    @Test
    void job_holdingAnUnlistedClass_isDeniedAndItIsNotMade() throws Exception {
        assertDenied(open, closed, new Holding(new Trap("in a job")), "trap.Trap");
        int before = Trap.SPRUNG.get();
        assertThat(ask(closed, open, new Holding(new Trap("in a job")))).isEqualTo("ran");
        assertThat(Trap.SPRUNG.get()).as("the trap is one").isGreaterThan(before);
    }

    @Test
    void answer_holdingAnUnlistedClass_isDeniedAtWhoAsked() {
        assertDenied(closed, open, new Answering(false), "trap.Trap");
        assertDenied(closed, open, new Answering(true), "trap.Trap$Failure");
    }

    /** Bytes that would be an object, to the ports that take frames. */
    @Test
    void object_sentToTheEnginesPorts_doesNothing() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Trap("to a port"));
        }
        PeerAddress engine = Objects.requireNonNull(
                TransferCommunicationSpi.endpointOf(closed.cluster().localNode()));
        int before = Trap.SPRUNG.get();
        for (int port : List.of(engine.dataPort(), engine.controlPort(), engine.eventPort())) {
            try (Socket socket = new Socket("127.0.0.1", port)) {
                socket.getOutputStream().write(bytes.toByteArray());
                socket.getOutputStream().flush();
            } catch (IOException e) {
                // Cut by the engine, or nobody is there.
            }
        }
        // To what understands the engine's frames, too: as requests, and as what a member publishes.
        ControlPlane member = NodeEngines.of(open).control();
        for (String service : List.of("mooncake.feed", "mooncake.act", "mooncake.hot", "mooncake.nothing")) {
            try {
                member.request(engine, service, bytes.toByteArray(), Deadline.ofMillis(60_000))
                        .toCompletableFuture()
                        .get(60, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                // Refused, as most are.
            }
        }
        for (String topic : List.of("mooncake.feed", "mooncake.place", "mooncake.load")) {
            member.publish(topic, bytes.toByteArray());
        }
        assertStillServes(before);
    }

    @Test
    void object_sentToTheServiceByAThinClient_doesNothing() {
        int before = Trap.SPRUNG.get();
        try (IgniteClient thin =
                Ignition.startClient(new ClientConfiguration().setAddresses("127.0.0.1:" + grid.connectorPort(0)))) {
            Unfit unfit = thin.services().serviceProxy(MooncakeService.NAME, Unfit.class);
            assertThatThrownBy(() -> unfit.explain(new Trap("as an argument"), new int[] {1}))
                    .isInstanceOf(RuntimeException.class);
        }
        assertStillServes(before);
    }

    /** What somebody takes the service for. */
    private interface Unfit {
        Object explain(Trap pool, int[] tokens);
    }

    private static void assertStillServes(int before) {
        assertThat(Trap.SPRUNG.get()).isEqualTo(before);
        int[] tokens = Blocks.prompt(1, 1, 0, 2);
        Blocks.store(Mooncake.of(closed).pool(POOL), tokens);
        assertThat(Blocks.reuse(Mooncake.of(closed).pool(POOL), tokens)).isEqualTo(32);
    }
}
