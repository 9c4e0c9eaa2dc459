// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.tenant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.client.MooncakeService;
import io.mooncake.client.PromptExplanation;
import io.mooncake.ignite.Caller;
import io.mooncake.ignite.JobContext;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.conductor.Blocks;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.services.ServiceCallContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whoever asks, by whichever way and through whichever node, hears of the blocks of its own tenant and of no others. */
class TenantCallersTest {
    private static final String POOL = "tiny";
    private static final List<String> OPERATORS_VIEWS =
            List.of("BLOCKS", "PREFIXES", "SEGMENTS", "LEASES", "TRANSFERS", "PEERS", "MISSES", "PATHS");

    @TempDir
    static Path work;

    private static TenantGrid nodes;

    @BeforeAll
    static void start() throws SQLException {
        nodes = new TenantGrid(work, TestGrid.pool(POOL));
    }

    @AfterAll
    static void stop() {
        nodes.close();
    }

    /** Stores {@code tokens} on the second node as {@code tenant}, and waits until the first has heard of it. */
    private static void store(String tenant, int[] tokens) {
        Mooncake owner = Mooncake.of(nodes.second);
        Blocks.store(owner.pool(POOL).forTenant(owner.tenant(tenant)), tokens);
        Mooncake other = Mooncake.of(nodes.first);
        int whole = tokens.length - 1;
        TestGrid.await(
                "the index has all the blocks",
                () -> other.explain(POOL, other.tenant(tenant), tokens).matches().stream()
                        .anyMatch(match -> match.tokens() == whole));
    }

    private static PromptExplanation explain(String user, int connected, Ignite asked, int[] tokens) {
        try (IgniteClient thin = nodes.thin(user, connected)) {
            return PromptExplanation.of(TenantGrid.service(thin, asked).explain(POOL, tokens));
        }
    }

    @Test
    void explain_thinClients_hearOfTheirOwnTenantAlone() {
        int[] tokens = Blocks.prompt(40, 1, 0, 3);
        store("acme", tokens);

        for (int connected : new int[] {0, 1}) {
            for (Ignite asked : List.of(nodes.first, nodes.second)) {
                assertThat(explain("alice", connected, asked, tokens).matches().values())
                        .as("alice by %d", connected)
                        .containsExactly(48);
                assertThat(explain("anna", connected, asked, tokens).matches()).hasSize(1);
                PromptExplanation others = explain("bob", connected, asked, tokens);
                assertThat(others.matches()).isEmpty();
                assertThat(others.pieces()).isEmpty();
                assertThat(others.gaps()).containsExactly(new PromptExplanation.Gap(0, 48, "NOT_CACHED"));
            }
        }
    }

    @Test
    void explain_blocksOfAnotherTenantThatWent_areAsNeverThere() {
        int[] tokens = Blocks.prompt(41, 1, 0, 3);
        store("acme", tokens);
        Mooncake owner = Mooncake.of(nodes.second);
        Tenant acme = owner.tenant("acme");
        KvIdentity identity = owner.pool(POOL).identity();
        BlockKey[] keys = new ChainKeys().chain(ChainKeys.root(identity, acme.salt()), tokens, 0, 16, 3);
        owner.blocks(POOL, acme).remove(List.of(keys), Duration.ofSeconds(60));
        TestGrid.await(
                "alice hears that they were removed",
                () -> explain("alice", 0, nodes.first, tokens).missReason().equals("REMOVED"));

        int[] never = Blocks.prompt(42, 1, 0, 3);
        assertThat(explain("bob", 0, nodes.first, tokens)).isEqualTo(explain("bob", 0, nodes.first, never));
        assertThat(explain("bob", 0, nodes.second, tokens)).isEqualTo(explain("bob", 0, nodes.second, never));
    }

    @Test
    void explain_apiKeyInTheCall_countsWhereTheLoginSaysNothing() {
        int[] tokens = Blocks.prompt(43, 1, 0, 3);
        store("acme", tokens);
        ServiceCallContext call = ServiceCallContext.builder()
                .put(MooncakeService.API_KEY, TenantGrid.KEY)
                .build();
        try (IgniteClient mallory = nodes.thin("mallory", 0);
                IgniteClient bob = nodes.thin("bob", 0)) {
            assertThat(PromptExplanation.of(mallory.services()
                                    .serviceProxy(MooncakeService.NAME, MooncakeService.class, call)
                                    .explain(POOL, tokens))
                            .matches())
                    .hasSize(1);
            // Who is known stays who he is.
            assertThat(PromptExplanation.of(bob.services()
                                    .serviceProxy(MooncakeService.NAME, MooncakeService.class, call)
                                    .explain(POOL, tokens))
                            .matches())
                    .isEmpty();
        }
    }

    @Test
    void service_userWithoutATenant_isDenied() {
        try (IgniteClient thin = nodes.thin("mallory", 0)) {
            for (Ignite asked : List.of(nodes.first, nodes.second)) {
                MooncakeService service = TenantGrid.service(thin, asked);
                assertThatThrownBy(() -> service.explain(POOL, new int[] {1}))
                        .hasMessageContaining("DENIED")
                        .hasMessageContaining("mallory");
                assertThatThrownBy(() -> service.route(POOL, new int[] {1})).hasMessageContaining("DENIED");
                assertThatThrownBy(service::statistics).hasMessageContaining("DENIED");
            }
        }
    }

    @Test
    void statistics_operatorsOnly() {
        try (IgniteClient alice = nodes.thin("alice", 0);
                IgniteClient operator = nodes.thin("ignite", 0)) {
            for (Ignite asked : List.of(nodes.first, nodes.second)) {
                assertThat(TenantGrid.service(operator, asked).statistics()).containsKey("blocks");
                assertThatThrownBy(() -> TenantGrid.service(alice, asked).statistics())
                        .hasMessageContaining("DENIED")
                        .hasMessageContaining("alice")
                        .hasMessageContaining("operators");
            }
        }
    }

    @Test
    void controlScript_operatorsOnly() throws Exception {
        store("acme", Blocks.prompt(11, 1, 2, 3));
        for (String[] command : new String[][] {
            {"blocks"}, {"explain", "--pool", POOL, "--tokens", "1,2"}, {"scrub"}, {"warm", "--pool", POOL}, {"drain"}
        }) {
            assertThat(nodes.script("bob", command).code()).as(command[0]).isNotZero();
        }
        assertThat(Mooncake.of(nodes.first)
                        .decide(Route.of(POOL, new int[] {1}))
                        .promptTokens())
                .as("nothing was drained")
                .isOne();
        assertThat(nodes.script("ignite", "explain", "--pool", POOL, "--tokens", "1,2")
                        .code())
                .isZero();
    }

    @Test
    void views_ofAllTenants_areForOperators() throws SQLException {
        assertThat(nodes.query("ignite", "SELECT COUNT(*) FROM SYS.MOONCAKE_BLOCKS"))
                .hasSize(1);
        for (String view : OPERATORS_VIEWS) {
            assertThatThrownBy(() -> nodes.query("bob", "SELECT COUNT(*) FROM SYS.MOONCAKE_" + view))
                    .as(view)
                    .hasMessageContaining("DENIED");
        }
        // A member's own code is trusted.
        assertThat(nodes.first
                        .getOrCreateCache(TestGrid.smallCache("any"))
                        .query(new SqlFieldsQuery("SELECT COUNT(*) FROM SYS.MOONCAKE_BLOCKS"))
                        .getAll())
                .hasSize(1);
    }

    @Test
    void explainView_jdbcCallers_seeTheirOwnTenantAlone() throws SQLException {
        int[] tokens = Blocks.prompt(44, 1, 0, 3);
        store("acme", tokens);
        String sql = "SELECT REASON FROM SYS.MOONCAKE_EXPLAIN WHERE POOL = '" + POOL + "' AND TOKENS = '"
                + Arrays.stream(tokens).mapToObj(Integer::toString).collect(Collectors.joining(",")) + "'";

        assertThat(nodes.query("alice", sql)).containsExactly(List.of(""));
        assertThat(nodes.query("bob", sql)).containsExactly(List.of("NOT_CACHED"));
        assertThatThrownBy(() -> nodes.query("mallory", sql)).hasMessageContaining("DENIED");
    }

    /** Looks its prompt up where it runs. */
    private record LookUp() implements RoutedJob<Integer> {
        @Override
        public Integer run(JobContext context) {
            return Blocks.reuse(context.pool(), context.route().tokens());
        }
    }

    @Test
    void submit_forAGatewaysCaller_usesItsTenantsBlocks() throws Exception {
        int[] tokens = Blocks.prompt(45, 1, 0, 3);
        store("acme", tokens);
        UUID holder = nodes.second.cluster().localNode().id();
        Mooncake gateway = Mooncake.of(nodes.first);
        String acme =
                gateway.tenantOf(Caller.gateway(null, TenantGrid.KEY, null)).name();
        Route route = Route.of(POOL, tokens);

        assertThat(gateway.decide(route.tenant(acme)).nodeId()).isEqualTo(holder);
        assertThat(gateway.decide(route.tenant(acme)).bestTokens()).isEqualTo(48);
        for (Route other : List.of(route.tenant("globex"), route)) {
            assertThat(gateway.decide(other).bestTokens()).isZero();
            assertThat(gateway.submit(other.onNode(holder), new LookUp())
                            .toCompletableFuture()
                            .get(60, TimeUnit.SECONDS))
                    .isZero();
        }
        assertThat(gateway.submit(route.tenant(acme), new LookUp())
                        .toCompletableFuture()
                        .get(60, TimeUnit.SECONDS))
                .isEqualTo(48);
        assertThatThrownBy(() -> gateway.tenantOf(Caller.gateway("alice of the gateway", null, null)))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(MooncakeException.Code.DENIED));
    }
}
