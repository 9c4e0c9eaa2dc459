// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.TestGrid;
import io.mooncake.transfer.metadata.EngineRecord;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataStatus;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.metadata.MetadataStoreContract;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteMessaging;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The contract over two plain nodes and a client, none of which has the plugin; and what is particular to Ignite. */
class IgniteMetadataStoreTest extends MetadataStoreContract {
    private static final List<Ignite> NODES = new ArrayList<>();
    private static TestGrid grid;

    private final String cluster = UUID.randomUUID().toString();
    private int next;

    @BeforeAll
    static void startNodes() {
        grid = new TestGrid();
        NODES.add(grid.start("one", config -> {}));
        NODES.add(grid.start("two", config -> {}));
        NODES.add(grid.start("client", config -> config.setClientMode(true)));
    }

    @AfterAll
    static void stopNodes() {
        grid.close();
        NODES.clear();
    }

    private MetadataStore on(Ignite node) {
        return MetadataStore.open("ignite://" + node.name(), MetadataContext.of(cluster));
    }

    @Override
    protected MetadataStore openNode() {
        return on(NODES.get(next++ % NODES.size()));
    }

    @Test
    void open_ofNoOrOneOfSeveralNodes_namesThoseThatRun() {
        for (String uri : List.of("ignite", "ignite://nobody")) {
            assertThatExceptionOfType(MooncakeException.class)
                    .isThrownBy(() -> MetadataStore.open(uri, MetadataContext.of(cluster)))
                    .withMessageContaining(NODES.get(0).name());
        }
    }

    @Test
    void put_whileTheClusterIsInactive_isSeen() {
        Ignite one = NODES.get(0);
        one.cluster().state(ClusterState.INACTIVE);
        try (MetadataStore here = on(one);
                MetadataStore there = on(NODES.get(1))) {
            assertThat(here.put("k", bytes("1"), deadline())).isTrue();
            eventually(() -> texts(there.get("k")).equals(List.of("1")));
        } finally {
            one.cluster().state(ClusterState.ACTIVE);
        }
    }

    @Test
    void put_ofManyRecords_reachesNewcomersInParts() {
        try (MetadataStore here = on(NODES.get(0))) {
            for (int i = 0; i < 100; i++) {
                here.put("many/" + i, new byte[10_000], deadline());
            }
            try (MetadataStore late = on(NODES.get(1))) {
                eventually(() -> late.list("many/").equals(here.list("many/")));
                assertThat(late.list("many/")).hasSize(100);
            }
        }
    }

    @Test
    void close_whileOthersAsk_takesOwnRecordsBackForGood() {
        Ignite one = NODES.get(0);
        Ignite two = NODES.get(1);
        byte[] question = MetadataFrameDescriptor.plain(MetadataFrameDescriptor.Type.HELLO, UUID.randomUUID(), 0);
        AtomicBoolean asking = new AtomicBoolean(true);
        Thread asker = new Thread(() -> {
            while (asking.get()) {
                two.message(two.cluster().forNode(one.cluster().localNode()))
                        .sendOrdered("mooncake.metadata/" + cluster, question, 0);
                LockSupport.parkNanos(1_000_000);
            }
        });
        try (MetadataStore there = on(two)) {
            asker.start();
            for (int i = 0; i < 20; i++) {
                MetadataStore here = on(one);
                here.put("mine", bytes("1"), deadline());
                eventually(() -> there.get("mine").size() == 1);
                here.close();
                eventually(() -> there.get("mine").isEmpty());
            }
        } finally {
            asking.set(false);
        }
    }

    /** A node whose messages go out late says that its store is gone when it can, not only if it can within the time of a close. */
    @Test
    void close_messagesGoOutLate_takesOwnRecordsBackAllTheSame() throws Exception {
        AtomicReference<CountDownLatch> gate = new AtomicReference<>(new CountDownLatch(0));
        CountDownLatch held = new CountDownLatch(1);
        IgniteEx late = whoseMessagesWait((IgniteEx) NODES.get(0), gate, held);
        try (MetadataStore there = on(NODES.get(1))) {
            MetadataStore here = new IgniteMetadataStore(late, MetadataContext.of(cluster));
            here.put("mine", bytes("1"), deadline());
            eventually(() -> there.get("mine").size() == 1);
            gate.set(new CountDownLatch(1));
            here.put("mine", bytes("2"), Deadline.ofMillis(1));
            assertThat(held.await(60, TimeUnit.SECONDS)).isTrue();

            here.close();
            gate.get().countDown();

            eventually(() -> there.get("mine").isEmpty());
        }
    }

    /** {@code node}, but that each ordered message waits for the gate; {@code held} tells of the first that finds it shut. */
    private static IgniteEx whoseMessagesWait(
            IgniteEx node, AtomicReference<CountDownLatch> gate, CountDownLatch held) {
        return proxy(IgniteEx.class, (name, arguments, method) -> {
            Object result = method.invoke(node, arguments);
            return name.equals("message") ? whoseMessagesWait((IgniteMessaging) result, gate, held) : result;
        });
    }

    private static IgniteMessaging whoseMessagesWait(
            IgniteMessaging messages, AtomicReference<CountDownLatch> gate, CountDownLatch held) {
        return proxy(IgniteMessaging.class, (name, arguments, method) -> {
            CountDownLatch shut = gate.get();
            if (name.equals("sendOrdered") && shut.getCount() > 0) {
                held.countDown();
                shut.await();
            }
            return method.invoke(messages, arguments);
        });
    }

    private interface Handler {
        Object call(String name, Object[] arguments, Method method) throws Exception;
    }

    private static <T> T proxy(Class<T> type, Handler handler) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    try {
                        return handler.call(method.getName(), arguments, method);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException("never sent", e);
                    }
                }));
    }

    @Test
    void engines_areThoseOfTheTopology_andGoWithTheirNode() {
        try (TestGrid other = new TestGrid()) {
            Ignite first = other.start("first", config -> config.setPluginProviders(other.provider()));
            Ignite second = other.start("second", config -> config.setPluginProviders(other.provider()));
            try (MetadataStore here = on(first)) {
                eventually(() -> here.engines().size() == 2);
                EngineRecord engine = here.engines().stream()
                        .filter(each -> String.valueOf(
                                        second.cluster().localNode().consistentId())
                                .equals(each.attributes().get(EngineRecord.NAME)))
                        .findFirst()
                        .orElseThrow();
                try (MetadataStore there = on(second)) {
                    EngineRecord more = new EngineRecord(engine.address(), java.util.Map.of("rack", "r1"));
                    there.register(more, deadline());
                    eventually(() -> here.findEngine(engine.address().incarnation())
                            .filter(more::equals)
                            .isPresent());
                    there.unregister(engine.address().incarnation(), deadline());
                    eventually(() -> here.findEngine(engine.address().incarnation())
                            .filter(engine::equals)
                            .isPresent());
                    there.put("k", bytes("1"), deadline());
                    eventually(() -> here.get("k").size() == 1);

                    Ignition.stop(second.name(), true);
                    eventually(() ->
                            here.findEngine(engine.address().incarnation()).isEmpty());
                    eventually(() -> here.get("k").isEmpty());
                }
            }
        }
    }

    @Test
    void disconnectedClient_servesWhatItKnows_andPublishesWhenItIsBack() {
        try (TestGrid other = new TestGrid()) {
            Ignite server = other.start("server", config -> {});
            Ignite client = other.start("client", config -> config.setClientMode(true));
            MetadataStore there = on(server);
            try (MetadataStore here = on(client)) {
                Follower follower = new Follower();
                here.watch("", follower);
                there.put("of/server", bytes("1"), deadline());
                here.put("of/client", bytes("2"), deadline());
                eventually(() -> here.list("of/").size() == 2);

                Ignition.stop(server.name(), true);
                eventually(() -> here.status().state() == MetadataStatus.State.OUTAGE);
                assertThat(here.list("of/")).hasSize(2);
                assertThat(here.put("during", bytes("3"), Deadline.ofMillis(50)))
                        .isFalse();

                Ignite again = other.start("server", config -> {});
                try (MetadataStore back = on(again)) {
                    eventually(() -> here.status().state() == MetadataStatus.State.SYNCED);
                    assertThat(here.get("of/server")).as("within the grace").hasSize(1);
                    eventually(() -> texts(back.list("")).containsAll(List.of("2", "3")));
                    eventually(() -> here.get("of/server").isEmpty());
                    eventually(() -> follower.log().contains("-of/server=1"));
                    assertThat(follower.log()).doesNotContain("-of/client=2");
                }
            } finally {
                there.close();
            }
        }
    }
}
