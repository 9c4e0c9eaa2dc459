// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.client.MooncakeService;
import io.mooncake.client.PromptExplanation;
import io.mooncake.ignite.Mooncake;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import javax.management.ObjectName;
import javax.management.openmbean.TabularData;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** What works whatever SQL engine there is, none included: service, explanation, metrics, views over JMX, the mirror by scan query. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class QuerySuite {
    private static final List<String> VIEWS =
            List.of("blocks", "prefixes", "misses", "paths", "peers", "segments", "leases", "transfers");

    @SuppressWarnings("NullAway.Init") // set before the tests
    private QueryNodes nodes;

    /** Adds the SQL engine to a node's configuration, as its user would. */
    protected IgniteConfiguration withEngine(IgniteConfiguration config) {
        return config;
    }

    /** Name by which the service tells of the engine. */
    protected abstract String engine();

    final QueryNodes nodes() {
        return nodes;
    }

    @BeforeAll
    void start(@TempDir Path work) throws Exception {
        nodes = new QueryNodes(work, this::withEngine);
        QueryNodes.await(
                "the second node knows the blocks",
                () -> Mooncake.of(nodes.second()).statistics().indexEntries() >= 3);
        for (Ignite node : List.of(nodes.first(), nodes.second())) {
            QueryNodes.await("the service is deployed", () -> node.services().service(MooncakeService.NAME) != null);
        }
    }

    @AfterAll
    void stop() {
        if (nodes != null) {
            nodes.close();
        }
    }

    @Test
    void explain_fromThinAndThick_tellsPiecesAndGaps() {
        int[] tokens = QueryNodes.prompt(5 * QueryNodes.BLOCK_TOKENS + 1);
        UUID owner = nodes.first().cluster().localNode().id();
        try (IgniteClient thin = thin()) {
            MooncakeService service = thin.services().serviceProxy(MooncakeService.NAME, MooncakeService.class);
            requireExplained(PromptExplanation.of(service.explain(QueryNodes.POOL, tokens)), owner);
        }
        MooncakeService remote = nodes.first()
                .services(nodes.first()
                        .cluster()
                        .forNodeId(nodes.second().cluster().localNode().id()))
                .serviceProxy(MooncakeService.NAME, MooncakeService.class, true);
        PromptExplanation seen = PromptExplanation.of(remote.explain(QueryNodes.POOL, tokens));
        requireExplained(seen, owner);
        assertThat(seen.pieces().get(0).way()).isIn("SHARED_MEMORY", "TCP", "RDMA");
    }

    private static void requireExplained(PromptExplanation seen, UUID owner) {
        assertThat(seen.promptTokens()).isEqualTo(81);
        assertThat(seen.reusableTokens()).isEqualTo(80);
        assertThat(seen.matches()).containsEntry(owner, QueryNodes.HELD);
        assertThat(seen.pieces()).singleElement().satisfies(piece -> {
            assertThat(piece.fromToken()).isZero();
            assertThat(piece.toToken()).isEqualTo(QueryNodes.HELD);
            assertThat(piece.nodeId()).isEqualTo(owner);
        });
        assertThat(seen.gaps()).containsExactly(new PromptExplanation.Gap(QueryNodes.HELD, 80, "NOT_CACHED"));
        assertThat(seen.missReason()).isEqualTo("NOT_CACHED");
    }

    @Test
    void explain_wrongInput_namesTheValue() {
        try (IgniteClient thin = thin()) {
            MooncakeService service = thin.services().serviceProxy(MooncakeService.NAME, MooncakeService.class);
            assertThatThrownBy(() -> service.explain("nowhere", new int[] {1})).hasMessageContaining("nowhere");
            assertThatThrownBy(() -> service.explain(QueryNodes.POOL, new int[] {1, -7}))
                    .hasMessageContaining("tokens[1]: -7");
            assertThatThrownBy(() -> service.explain(QueryNodes.POOL, new int[0]))
                    .hasMessageContaining("tokens");
        }
    }

    @Test
    void statistics_nameTheSqlEngine() {
        try (IgniteClient thin = thin()) {
            assertThat(thin.services()
                            .serviceProxy(MooncakeService.NAME, MooncakeService.class)
                            .statistics())
                    .containsEntry("sql", engine());
        }
    }

    @Test
    void metrics_overHttpAndJmx_agree() throws Exception {
        long blocks = Mooncake.of(nodes.first()).statistics().blocks();
        HttpResponse<String> shown = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + nodes.metrics() + "/metrics"))
                                .timeout(Duration.ofSeconds(60))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());

        assertThat(blocks).isGreaterThanOrEqualTo(3);
        assertThat(shown.body()).contains("\nmooncake_pool_blocks " + blocks + "\n");
        assertThat(ManagementFactory.getPlatformMBeanServer().getAttribute(bean("mooncake", "pool"), "blocks"))
                .isEqualTo(blocks);
    }

    @Test
    void views_overJmx_haveRows() throws Exception {
        for (String view : VIEWS) {
            Object rows =
                    ManagementFactory.getPlatformMBeanServer().getAttribute(bean("views", "mooncake." + view), "views");
            assertThat(rows).as(view).isInstanceOf(TabularData.class);
            if (view.equals("blocks")) {
                assertThat(((TabularData) rows).size()).isGreaterThanOrEqualTo(3);
            }
        }
    }

    @Test
    void mirror_byScanQuery_showsTheRun() throws Exception {
        QueryNodes.await(
                "the mirror has the run",
                () -> nodes.second().cache("mooncake.prefixes") != null
                        && !nodes.second()
                                .cache("mooncake.prefixes")
                                .withKeepBinary()
                                .query(new ScanQuery<>())
                                .getAll()
                                .isEmpty());
    }

    /** A thin client of the first node. */
    final IgniteClient thin() {
        return Ignition.startClient(new ClientConfiguration().setAddresses("127.0.0.1:" + nodes.connector()));
    }

    private ObjectName bean(String group, String name) throws Exception {
        List<ObjectName> found =
                ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName("org.apache:*"), null).stream()
                        .filter(each -> Map.of(
                                        "group",
                                        group,
                                        "name",
                                        name,
                                        "igniteInstanceName",
                                        nodes.first().name())
                                .entrySet()
                                .stream()
                                .allMatch(pair -> pair.getValue().equals(unquoted(each.getKeyProperty(pair.getKey())))))
                        .toList();
        assertThat(found).as(group + " " + name).hasSize(1);
        return found.get(0);
    }

    private static String unquoted(@org.jspecify.annotations.Nullable String value) {
        return value == null ? "" : value.replace("\"", "");
    }
}
