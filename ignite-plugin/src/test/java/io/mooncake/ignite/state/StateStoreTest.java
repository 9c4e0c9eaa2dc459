// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.node.StateOf;
import io.mooncake.memory.BlockKey;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateStoreTest {
    private static final BlockKey PREFIX = new BlockKey(1, 2, 3, 4);
    private static final StateRow.Quota SMALL = new StateRow.Quota("acme", 1_000, 2_000);
    private static final StateRow.Quota LARGE = new StateRow.Quota("acme", 5_000, 0);

    private final TestGrid grid = new TestGrid();

    @TempDir
    Path work;

    @AfterEach
    void stop() {
        grid.close();
    }

    @Test
    void rows_ofEachKind_areKnownToAllNodesWithTheirVersions() {
        StateStore first = state(grid.start("first"));
        StateStore second = state(grid.start("second"));
        Queue<String> heard = new ConcurrentLinkedQueue<>();
        second.addListener((key, row) -> heard.add(key + " " + (row == null ? "gone" : row.version())));
        StateRow.Pin pin = new StateRow.Pin("tiny", PREFIX, Optional.of(Duration.ofMinutes(5)));
        StateRow.ReplicaIntent intent = new StateRow.ReplicaIntent("tiny", PREFIX, 2, "default");

        Versioned<StateRow.Pin> pinned = writing(() -> first.pins().put(pin, soon()));
        first.replicas().put(intent, soon());
        first.quotas().put(SMALL, soon());
        Versioned<StateRow.Quota> quota = first.quotas().put(LARGE, soon());

        assertThat(first.pins().find(pin.key())).contains(pinned);
        TestGrid.await(
                "the second node knows",
                () -> second.pins().find(pin.key()).equals(Optional.of(pinned))
                        && second.replicas().all().stream()
                                .anyMatch(row -> row.row().equals(intent))
                        && second.quotas().all().equals(List.of(quota)));
        assertThat(quota.version()).isEqualTo(2);
        TestGrid.await("both remember the pool", () -> second.pools().all().size() == 1);
        assertThat(second.pools().all().get(0).row().pool()).isEqualTo("tiny");
        assertThat(second.pools().all().get(0).row().identity()).contains("modelDigest=");

        assertThat(first.pins().remove(pinned, soon())).isTrue();
        assertThat(first.pins().remove(pinned, soon())).isFalse();
        TestGrid.await("the second node forgot", () -> second.pins().all().isEmpty());
        assertThat(heard).contains("quota:acme 2", pin.key() + " 1", pin.key() + " gone");
    }

    @Test
    void replace_byAWriterThatReadBeforeAnother_isRefused() {
        StateStore first = state(grid.start("first"));
        StateStore second = state(grid.start("second"));
        Versioned<StateRow.Quota> read = writing(() -> first.quotas().put(SMALL, soon()));
        Versioned<StateRow.Quota> newer = writing(() -> second.quotas().put(LARGE, soon()));

        // The first node slept meanwhile.
        assertThat(first.quotas().replace(read, SMALL, soon())).isEmpty();
        assertThat(first.quotas().remove(read, soon())).isFalse();
        assertThat(first.quotas().putIfAbsent(SMALL, soon())).isEmpty();

        TestGrid.await("the newer one stays", () -> first.quotas().all().equals(List.of(newer)));
        assertThat(first.quotas().replace(newer, SMALL, soon()).orElseThrow().version())
                .isEqualTo(3);
    }

    @Test
    void put_onBehalfOfALifeThatLeft_isStale() {
        Ignite firstNode = grid.start("first");
        StateStore first = state(firstNode);
        Ignite second = grid.start("second");
        Member member = StateOf.member(firstNode, second.cluster().localNode().id());
        Versioned<StateRow.Quota> before =
                writing(() -> first.quotas().onBehalfOf(member).put(SMALL, soon()));
        assertThat(before.incarnation()).isEqualTo(member.address().incarnation());

        Ignition.stop(second.name(), true);
        TestGrid.await("it left", () -> StateOf.members(firstNode) == 1);

        assertThatThrownBy(() -> first.quotas().onBehalfOf(member).put(LARGE, soon()))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(MooncakeException.Code.STALE))
                .hasMessageContaining(member.address().incarnation().toString());
        assertThat(first.quotas().find(SMALL.key())).map(Versioned::row).contains(SMALL);
    }

    @Test
    void put_moreRowsThanTheBudget_isExhaustedAndTheNodeGoesOn() {
        Ignite node = grid.start("first", grid.provider().setStateRowBudget(100));
        StateStore state = state(node);
        TestGrid.await("the pool is remembered", () -> state.pools().all().size() == 1);
        Map<String, Versioned<StateRow.Quota>> written = new HashMap<>();
        for (int i = 0; i < 99; i++) {
            StateRow.Quota row = new StateRow.Quota("tenant " + i, i, i);
            written.put(row.key(), state.quotas().put(row, soon()));
        }

        assertThatThrownBy(() -> state.quotas().put(SMALL, soon()))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(MooncakeException.Code.EXHAUSTED))
                .hasMessageContaining("stateRowBudget: 100 rows are there (expected: less than 100)");

        // What is there can be changed, and room can be made.
        Versioned<StateRow.Quota> one = written.get("quota:tenant 7");
        Versioned<StateRow.Quota> changed = state.quotas()
                .replace(one, new StateRow.Quota("tenant 7", 1, 1), soon())
                .orElseThrow();
        assertThat(state.quotas().remove(changed, soon())).isTrue();
        assertThat(state.quotas().put(SMALL, soon()).version()).isEqualTo(1);
        assertThat(TestBlocks.store(Mooncake.of(node).pool("tiny"), TestBlocks.prompt(1, 40)))
                .isEqualTo(2);
    }

    @Test
    void put_clusterReadOnlyOrInactive_namesTheStateAndWhatIsKnownStays() {
        Ignite node = grid.start("first");
        StateStore state = state(node);
        writing(() -> state.quotas().put(SMALL, soon()));

        node.cluster().state(ClusterState.ACTIVE_READ_ONLY);
        assertIllegal(state, "cluster state: ACTIVE_READ_ONLY (expected: ACTIVE)");
        node.cluster().state(ClusterState.INACTIVE);
        assertIllegal(state, "cluster state: INACTIVE (expected: ACTIVE)");
        assertThat(state.quotas().find(SMALL.key())).map(Versioned::row).contains(SMALL);

        // In memory only: the cluster forgot, and says so once it is on again.
        node.cluster().state(ClusterState.ACTIVE);
        TestGrid.await("read again", () -> state.quotas().all().isEmpty());
        Versioned<StateRow.Quota> again = writing(() -> state.quotas().put(LARGE, soon()));
        assertThat(again.version()).isEqualTo(1);
    }

    @Test
    void rows_nodeThatHeldThemIsLost_areOnTheOther() {
        Ignite firstNode = grid.start("first");
        StateStore first = state(firstNode);
        Ignite secondNode = grid.start("second");
        StateStore second = state(secondNode);
        for (int i = 0; i < 50; i++) {
            StateRow.Quota row = new StateRow.Quota("tenant " + i, i, i);
            writing(() -> second.quotas().put(row, soon()));
        }

        Ignition.stop(secondNode.name(), true);

        TestGrid.await("alone", () -> StateOf.members(firstNode) == 1);
        writing(() -> first.quotas().put(SMALL, soon()));
        TestGrid.await("all are there", () -> first.quotas().all().size() == 51);
        StateStore third = state(grid.start("third"));
        TestGrid.await("a newcomer reads them", () -> third.quotas().all().size() == 51);
    }

    @Test
    void rows_persistentClusterRestarted_areThereAgain() {
        Ignite before = persistent("first");
        assertThat(before.cluster().state()).isEqualTo(ClusterState.INACTIVE);
        assertIllegal(state(before), "cluster state: INACTIVE (expected: ACTIVE)");
        before.cluster().state(ClusterState.ACTIVE);
        Versioned<StateRow.Quota> written = writing(() -> state(before).quotas().put(SMALL, soon()));
        Ignition.stop(before.name(), true);

        Ignite after = persistent("first");

        TestGrid.await("read from disk", () -> state(after).quotas().all().equals(List.of(written)));
        assertThat(writing(() -> state(after).quotas().put(LARGE, soon())).version())
                .isEqualTo(2);
    }

    @Test
    void rows_askedByAPlainClientAThinClientAndSql_areReadWithoutOurClasses() {
        grid.start(
                "plain",
                config -> config.setClientConnectorConfiguration(new ClientConnectorConfiguration()
                        .setHost("127.0.0.1")
                        .setPort(grid.ports() + 60)
                        .setPortRange(0)));
        StateStore state = state(grid.start("first"));
        writing(() -> state.quotas().put(SMALL, soon()));
        Ignite client = grid.start("client", config -> config.setClientMode(true));

        IgniteCache<String, BinaryObject> cache = client.cache("mooncake.state").withKeepBinary();
        assertThat(cache.get("quota:acme").<Long>field("dramBytes")).isEqualTo(1_000);
        assertThat(cache.query(new SqlFieldsQuery("SELECT subject, ssdBytes FROM MOONCAKE.STATE WHERE kind = 'quota'"))
                        .getAll())
                .isEqualTo(List.of(List.of("acme", 2_000L)));
        try (IgniteClient thin =
                Ignition.startClient(new ClientConfiguration().setAddresses("127.0.0.1:" + (grid.ports() + 60)))) {
            BinaryObject read = thin.cache("mooncake.state")
                    .<String, BinaryObject>withKeepBinary()
                    .get("quota:acme");
            assertThat(read.<String>field("subject")).isEqualTo("acme");
        }
    }

    @Test
    void rows_ofAnObserver_areFollowedAndWritten() {
        StateStore first = state(grid.start("first"));
        StateStore observer = state(grid.start("observer", config -> config.setClientMode(true)
                .setPluginProviders(new MooncakePluginProvider()
                        .setSecret(TestGrid.SECRET)
                        .setPortFrom(grid.ports() + 32)
                        .setPortTo(grid.ports() + 63))));
        Versioned<StateRow.Quota> written = writing(() -> observer.quotas().put(SMALL, soon()));

        TestGrid.await("the storing node knows", () -> first.quotas().all().equals(List.of(written)));
        Versioned<StateRow.Quota> newer =
                first.quotas().replace(written, LARGE, soon()).orElseThrow();
        TestGrid.await("the observer follows", () -> observer.quotas().all().equals(List.of(newer)));
    }

    private Ignite persistent(String name) {
        return grid.start(name, config -> {
            config.setPluginProviders(grid.provider()).setWorkDirectory(work.toString());
            config.getDataStorageConfiguration()
                    .setWalSegmentSize(4 << 20)
                    .getDefaultDataRegionConfiguration()
                    .setPersistenceEnabled(true);
        });
    }

    private static void assertIllegal(StateStore state, String message) {
        assertThatThrownBy(() -> state.quotas().put(LARGE, soon()))
                .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                        .isEqualTo(MooncakeException.Code.ILLEGAL_STATE))
                .hasMessageContaining(message);
    }

    private static StateStore state(Ignite node) {
        return StateOf.node(node);
    }

    private static Deadline soon() {
        return Deadline.ofMillis(20_000);
    }

    /** A write that waits for the cache to be there. */
    private static <T> T writing(java.util.function.Supplier<T> write) {
        Queue<T> done = new ConcurrentLinkedQueue<>();
        TestGrid.await("the cluster takes the row", () -> {
            done.add(write.get());
            return true;
        });
        return done.remove();
    }
}
