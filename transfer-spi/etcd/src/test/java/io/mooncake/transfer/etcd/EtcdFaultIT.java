// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.auth.Permission;
import io.etcd.jetcd.options.DeleteOption;
import io.mooncake.base.Deadline;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.metadata.EngineListener;
import io.mooncake.transfer.metadata.EngineRecord;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataStatus;
import io.mooncake.transfer.metadata.MetadataStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Three members of etcd that are killed, paused and wiped, while two nodes know each other. */
class EtcdFaultIT {
    private static final boolean LONG = Boolean.getBoolean("mooncake.long");
    /** Re-registration must be done by then; the machine that runs the tests may be busy, so its waits are not this bound. */
    private static final long BOUND_MILLIS = MetadataStore.REPUBLISH_BOUND.toMillis();

    private final String cluster = UUID.randomUUID().toString();
    private final List<Node> nodes = new ArrayList<>();
    private EtcdServers servers;

    /** A store with an engine, and all that it heard about the others. */
    private static final class Node implements AutoCloseable {
        final MetadataStore store;
        final EngineRecord engine;
        final List<String> heard = Collections.synchronizedList(new ArrayList<>());

        Node(MetadataStore store) {
            this.store = store;
            engine = new EngineRecord(new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 2, 3), Map.of("rack", "r1"));
            store.watchEngines(new EngineListener() {
                @Override
                public void added(EngineRecord each) {
                    heard.add("+" + each.address().incarnation());
                }

                @Override
                public void removed(EngineRecord each) {
                    heard.add("-" + each.address().incarnation());
                }
            });
            store.register(engine, Deadline.ofMillis(30_000));
        }

        boolean knows(Node other) {
            return store.findEngine(other.engine.address().incarnation())
                    .filter(other.engine::equals)
                    .isPresent();
        }

        boolean lost(Node other) {
            return heard.contains("-" + other.engine.address().incarnation());
        }

        @Override
        public void close() {
            store.close();
        }
    }

    private Node node(Duration leaseTime) {
        Node node = new Node(
                MetadataStore.open(servers.uri(), MetadataContext.of(cluster).withLeaseTime(leaseTime)));
        nodes.add(node);
        return node;
    }

    private Node node() {
        return node(MetadataContext.DEFAULT_LEASE_TIME);
    }

    @AfterEach
    void closeAll() throws Exception {
        nodes.forEach(Node::close);
        if (servers != null) {
            servers.close();
        }
    }

    @Test
    void allMembersKilled_knownPeersStay_andAllIsPublishedAfterTheReturn() throws Exception {
        servers = EtcdServers.of(3);
        Node a = node();
        Node b = node();
        eventually(() -> a.knows(b) && b.knows(a));

        for (int seconds : LONG ? new int[] {5, 30, 300} : new int[] {5}) {
            servers.killAll();
            hold(seconds * 1000L, () -> a.knows(b) && b.knows(a));
            eventually(() -> a.store.status().state() == MetadataStatus.State.OUTAGE);
            String key = "during/" + seconds;
            assertThat(a.store.put(key, new byte[] {1}, Deadline.ofMillis(50))).isFalse();
            assertThat(a.store.get(key)).hasSize(1);

            servers.startAll();
            within(BOUND_MILLIS, () -> settled(a) && settled(b));
            assertThat(published(a) && published(b)).isTrue();
            eventually(() -> b.store.get(key).size() == 1);
            assertThat(a.knows(b) && b.knows(a)).isTrue();
        }
        assertThat(a.lost(b) || b.lost(a))
                .as("known peers are served throughout")
                .isFalse();
    }

    @Test
    void membersKilledInTurn_nothingIsLost() throws Exception {
        servers = EtcdServers.of(3);
        Node a = node();
        Node b = node();
        eventually(() -> a.knows(b) && b.knows(a));
        long seed = Long.getLong("mooncake.seed", new Random().nextLong());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        int rounds = LONG ? 10 : 2;
        for (int i = 0; i < rounds; i++) {
            int victim = random.nextInt(servers.members());
            servers.kill(victim);
            String key = "round/" + i;
            assertThat(a.store.put(key, new byte[] {(byte) i}, Deadline.ofMillis(30_000)))
                    .as("two members are enough")
                    .isTrue();
            eventually(() -> b.store.get(key).size() == 1);
            servers.start(victim);
            servers.awaitHealthy();
            hold(LONG ? 30_000 : 500, () -> a.knows(b) && b.knows(a));
        }
        assertThat(a.lost(b) || b.lost(a)).isFalse();
    }

    @Test
    void paused_halfOneAndThreeLeaseTimes_areRegisteredAgain() throws Exception {
        servers = EtcdServers.of(3);
        Duration leaseTime = Duration.ofSeconds(4);
        Node a = node(leaseTime);
        Node b = node(leaseTime);
        eventually(() -> a.knows(b) && b.knows(a));
        for (int round = 0; round < (LONG ? 20 : 1); round++) {
            for (double leases : new double[] {0.5, 1, 3}) {
                servers.pauseAll();
                hold((long) (leases * leaseTime.toMillis()), () -> a.knows(b) && b.knows(a));
                servers.resumeAll();
                within(BOUND_MILLIS, () -> settled(a) && settled(b) && published(a) && published(b));
            }
        }
        hold(1_000, () -> a.knows(b) && b.knows(a));
        assertThat(a.lost(b) || b.lost(a)).isFalse();
    }

    @Test
    void dataWiped_livingPeersStay_deadOnesGoAfterTheGrace() throws Exception {
        servers = EtcdServers.of(3);
        Node a = node();
        Node b = node();
        Node dead = node();
        eventually(() -> a.knows(b) && b.knows(a) && a.knows(dead));

        servers.killAll();
        servers.wipe();
        dead.close();
        long began = System.nanoTime();
        servers.startAll();
        within(BOUND_MILLIS, () -> settled(a) && settled(b) && published(a) && published(b));
        boolean known = a.knows(dead);
        // A busy machine may get here after it.
        boolean within = System.nanoTime() - began < MetadataStore.RETURN_GRACE.toNanos();
        assertThat(known || !within).as("within the grace nobody goes").isTrue();
        eventually(() -> !a.knows(dead) && !b.knows(dead));
        assertThat(a.knows(b) && b.knows(a)).isTrue();
        assertThat(a.lost(b) || b.lost(a)).isFalse();
        assertThat(a.lost(dead)).isTrue();

        Node late = node();
        eventually(() -> late.knows(a) && late.knows(b) && a.knows(late));
    }

    @Test
    void leaseRevoked_isTakenAnew() throws Exception {
        servers = EtcdServers.of(1);
        Node a = node(Duration.ofSeconds(3));
        Node b = node(Duration.ofSeconds(3));
        eventually(() -> a.knows(b) && b.knows(a));
        try (Client client = client()) {
            long revoked = leaseOf(client, a);
            client.getLeaseClient().revoke(revoked).get(10, TimeUnit.SECONDS);
            // On a busy machine another one may be lost too.
            within(
                    BOUND_MILLIS,
                    () -> published(a)
                            && b.knows(a)
                            && a.store.status().leaseLosses() >= 1
                            && leaseOrNone(client, a) != revoked);
        }
    }

    @Test
    void recordsDeletedByOthers_arePublishedAgain() throws Exception {
        servers = EtcdServers.of(1);
        Node a = node();
        Node b = node();
        eventually(() -> a.knows(b) && b.knows(a));
        try (Client client = client()) {
            client.getKVClient()
                    .delete(
                            EtcdConnection.bytes("/mooncake/"),
                            DeleteOption.builder().isPrefix(true).build())
                    .get(10, TimeUnit.SECONDS);
            client.getKVClient()
                    .put(keyOf(b), ByteSequence.from("not a record", StandardCharsets.UTF_8))
                    .get(10, TimeUnit.SECONDS);
        }
        within(BOUND_MILLIS, () -> published(a) && published(b) && a.knows(b) && b.knows(a));
    }

    @Test
    void nodeThatStopsWithoutGoodbye_goesWithItsLease() throws Exception {
        servers = EtcdServers.of(1);
        Node a = node();
        String key = "/mooncake/1/" + cluster + "/" + UUID.randomUUID() + "/k";
        try (Client client = client()) {
            long lease =
                    client.getLeaseClient().grant(6).get(10, TimeUnit.SECONDS).getID();
            client.getKVClient()
                    .put(
                            EtcdConnection.bytes(key),
                            ByteSequence.from(new byte[] {1, 0, 0, 0, 0, 0, 0, 0, 1}),
                            io.etcd.jetcd.options.PutOption.builder()
                                    .withLeaseId(lease)
                                    .build())
                    .get(10, TimeUnit.SECONDS);
            eventually(() -> a.store.get("k").size() == 1);
            eventually(() -> a.store.get("k").isEmpty());
        }
    }

    @Test
    void tokenExpired_isRenewed() throws Exception {
        servers = EtcdServers.of(1, "--auth-token-ttl=1");
        try (Client root = client()) {
            ByteSequence name = EtcdConnection.bytes("root");
            ByteSequence mooncake = EtcdConnection.bytes("mooncake");
            root.getAuthClient().userAdd(name, EtcdConnection.bytes("rootpass")).get();
            root.getAuthClient().roleAdd(name).get();
            root.getAuthClient().userGrantRole(name, name).get();
            root.getAuthClient()
                    .userAdd(mooncake, EtcdConnection.bytes("s3cret:x"))
                    .get();
            root.getAuthClient().roleAdd(mooncake).get();
            root.getAuthClient()
                    .roleGrantPermission(
                            mooncake,
                            EtcdConnection.bytes("/mooncake/"),
                            EtcdConnection.bytes("/mooncake0"),
                            Permission.Type.READWRITE)
                    .get();
            root.getAuthClient().userGrantRole(mooncake, mooncake).get();
            root.getAuthClient().authEnable().get();
        }
        MetadataContext context = MetadataContext.of(cluster);
        Node a = new Node(MetadataStore.open("etcd://mooncake:s3cret:x@" + servers.place(), context));
        nodes.add(a);
        Node b = new Node(MetadataStore.open(
                servers.uri(),
                MetadataContext.of(cluster)
                        .withOptions(Map.of(EtcdSettings.USER, "mooncake", EtcdSettings.PASSWORD, "s3cret:x"))));
        nodes.add(b);
        eventually(() -> a.knows(b) && b.knows(a));
        // Longer than a token lives and than keep-alives are apart; the tokens are also gone when the server starts
        // again.
        for (int i = 0; i < 2; i++) {
            Thread.sleep(5_000);
            assertThat(a.store.put("k", new byte[] {(byte) i}, Deadline.ofMillis(BOUND_MILLIS)))
                    .isTrue();
            byte expected = (byte) i;
            eventually(() -> b.store.get("k").stream().anyMatch(each -> each.value()[0] == expected));
            servers.kill(0);
            servers.startAll();
        }
        within(BOUND_MILLIS, () -> settled(a) && settled(b));
        assertThat(a.lost(b) || b.lost(a)).isFalse();
    }

    @Test
    void wrongPassword_isSaidInTheStatus() throws Exception {
        servers = EtcdServers.of(1);
        try (Client root = client()) {
            ByteSequence name = EtcdConnection.bytes("root");
            root.getAuthClient().userAdd(name, EtcdConnection.bytes("rootpass")).get();
            root.getAuthClient().roleAdd(name).get();
            root.getAuthClient().userGrantRole(name, name).get();
            root.getAuthClient().authEnable().get();
        }
        try (MetadataStore store =
                MetadataStore.open("etcd://root:wrong@" + servers.place(), MetadataContext.of(cluster))) {
            eventually(() -> store.status().state() == MetadataStatus.State.OUTAGE
                    && store.status().detail().contains("UNAUTHENTICATED"));
            assertThat(store.status().detail()).doesNotContain("wrong");
        }
    }

    // ---------------------------------------------------------------- tools

    /** The store says that it is in step and owes etcd nothing. */
    private static boolean settled(Node node) {
        MetadataStatus status = node.store.status();
        return status.state() == MetadataStatus.State.SYNCED && status.unpublished() == 0;
    }

    private ByteSequence keyOf(Node node) {
        return EtcdConnection.bytes(EtcdRecordDescriptor.key(
                cluster, node.store.owner(), "engine/" + node.engine.address().incarnation()));
    }

    /** etcd itself says that the record is there, under a lease that lives. */
    private boolean published(Node node) {
        try (Client client = client()) {
            long lease = leaseOf(client, node);
            return lease != 0
                    && client.getLeaseClient()
                                    .timeToLive(lease, io.etcd.jetcd.options.LeaseOption.DEFAULT)
                                    .get(10, TimeUnit.SECONDS)
                                    .getTTL()
                            > 0;
        } catch (Exception e) {
            return false;
        }
    }

    private long leaseOf(Client client, Node node) throws Exception {
        return client.getKVClient().get(keyOf(node)).get(10, TimeUnit.SECONDS).getKvs().stream()
                .mapToLong(each -> each.getLease())
                .findFirst()
                .orElse(0);
    }

    private long leaseOrNone(Client client, Node node) {
        try {
            return leaseOf(client, node);
        } catch (Exception e) {
            return 0;
        }
    }

    private Client client() {
        return Client.builder()
                .endpoints("http://" + servers.place().split(",")[0])
                .build();
    }

    private static void within(long millis, BooleanSupplier condition) throws InterruptedException {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat((System.nanoTime() - start) / 1_000_000)
                    .as("milliseconds")
                    .isLessThan(millis);
            Thread.sleep(20);
        }
        System.out.println("took " + (System.nanoTime() - start) / 1_000_000 + " ms");
    }

    private static void eventually(BooleanSupplier condition) throws InterruptedException {
        within(60_000, condition);
    }

    /** It holds all the time. */
    private static void hold(long millis, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() - end < 0) {
            assertThat(condition.getAsBoolean()).isTrue();
            Thread.sleep(10);
        }
    }
}
