// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.TestGrid;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import io.mooncake.transfer.ignite.messages.MessageStatistics;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteDataStreamer;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionConcurrency;
import org.apache.ignite.transactions.TransactionIsolation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What Ignite does for its users, with its messages over the engine and without: three servers and a client of this process, and a server
 * in a process of its own, which holds a share of everything.
 */
class MessagesOverEngineTest {
    private static final int LARGE_BYTES = 64 << 20;

    private static MessageStatistics statistics(Ignite node) {
        return Objects.requireNonNull(
                ((TransferCommunicationSpi) node.configuration().getCommunicationSpi()).messageStatistics());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void everything_fourServersAndAClient_works(boolean over) throws Exception {
        try (TestGrid grid = new TestGrid()) {
            Ignite a = grid.start("a", config -> MessagesNode.configure(grid, over, config));
            Process child = MessagesNode.fork(grid, over);
            try {
                everything(grid, over, a);
            } finally {
                child.destroyForcibly().waitFor();
            }
        }
    }

    private static void everything(TestGrid grid, boolean over, Ignite a) {
        Ignite b = grid.start("b", config -> MessagesNode.configure(grid, over, config));
        Ignite c = grid.start("c", config -> MessagesNode.configure(grid, over, config));
        Ignite client = grid.start("client", config -> config.setCommunicationSpi(MessagesNode.spi(grid, over))
                .setClientMode(true));

        atomicCache(a, b, client);
        transactionalCache(a, c, client);
        largeValues(a);
        compute(a, client);
        messaging(a, b);
        continuousQuery(a, c);
        sql(b, client);
        streamer(c, a);

        if (over) {
            for (Ignite server : List.of(a, b, c)) {
                MessageStatistics figures = statistics(server);
                assertThat(figures.sent()).isGreaterThan(300);
                assertThat(figures.received()).isGreaterThan(300);
            }
            assertThat(statistics(a).piecesSent()
                            + statistics(b).piecesSent()
                            + statistics(c).piecesSent())
                    .isGreaterThan(LARGE_BYTES >> 22);
        } else {
            assertThat(((TransferCommunicationSpi) a.configuration().getCommunicationSpi()).messageStatistics())
                    .isNull();
        }
        assertThat(((TransferCommunicationSpi) client.configuration().getCommunicationSpi()).messageStatistics())
                .isNull();
    }

    private static <K, V> CacheConfiguration<K, V> cache(String name, CacheAtomicityMode mode) {
        return TestGrid.<K, V>smallCache(name)
                .setAtomicityMode(mode)
                .setCacheMode(CacheMode.PARTITIONED)
                .setBackups(1)
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC);
    }

    private static void atomicCache(Ignite a, Ignite b, Ignite client) {
        IgniteCache<Integer, String> onA = a.getOrCreateCache(cache("atomic", CacheAtomicityMode.ATOMIC));
        IgniteCache<Integer, String> onB = b.cache("atomic");
        for (int i = 0; i < 200; i++) {
            onA.put(i, "v" + i);
            assertThat(onB.get(i)).isEqualTo("v" + i);
        }
        Map<Integer, String> all = new HashMap<>();
        for (int i = 0; i < 2_000; i++) {
            all.put(i, "w" + i);
        }
        onB.putAll(all);
        assertThat(onA.getAll(all.keySet())).isEqualTo(all);
        assertThat(client.<Integer, String>cache("atomic").get(7)).isEqualTo("w7");
        client.<Integer, String>cache("atomic").put(7, "from the client");
        assertThat(onA.get(7)).isEqualTo("from the client");
    }

    private static void transactionalCache(Ignite a, Ignite c, Ignite client) {
        IgniteCache<Integer, Integer> cache = a.getOrCreateCache(cache("tx", CacheAtomicityMode.TRANSACTIONAL));
        for (int i = 0; i < 10; i++) {
            cache.put(i, 100);
        }
        for (int i = 0; i < 60; i++) {
            Ignite node = i % 3 == 0 ? a : i % 3 == 1 ? c : client;
            IgniteCache<Integer, Integer> here = node.cache("tx");
            try (Transaction tx = node.transactions()
                    .txStart(TransactionConcurrency.PESSIMISTIC, TransactionIsolation.REPEATABLE_READ)) {
                int from = i % 10;
                int to = (i + 3) % 10;
                here.put(Math.min(from, to), here.get(Math.min(from, to)) + (from < to ? -1 : 1));
                here.put(Math.max(from, to), here.get(Math.max(from, to)) + (from < to ? 1 : -1));
                tx.commit();
            }
        }
        int sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += c.<Integer, Integer>cache("tx").get(i);
        }
        assertThat(sum).isEqualTo(1_000);
    }

    private static void largeValues(Ignite a) {
        IgniteCache<Integer, byte[]> cache =
                a.getOrCreateCache(TestGrid.<Integer, byte[]>smallCache("large").setOnheapCacheEnabled(false));
        byte[] value = new byte[LARGE_BYTES / 4];
        for (int i = 0; i < value.length; i += 4096) {
            value[i] = (byte) (i >> 12);
        }
        int mine = remoteKey(a, "large");
        cache.put(mine, value);
        assertThat(Arrays.equals(a.<Integer, byte[]>cache("large").get(mine), value))
                .isTrue();
        cache.remove(mine);
        // The argument of a job: the heap of this process has no room for such a result besides.
        byte[] whole = new byte[LARGE_BYTES];
        whole[LARGE_BYTES - 1] = 9;
        whole[5] = 7;
        long sum = a.compute(a.cluster().forNode(MessagesNode.child(a))).apply(MessagesOverEngineTest::sum, whole);
        assertThat(sum).isEqualTo(9L * LARGE_BYTES + 7L * 6);
    }

    /** Each byte times its place, from 1. */
    private static long sum(byte[] bytes) {
        long sum = 0;
        for (int i = 0; i < bytes.length; i++) {
            sum += bytes[i] * (i + 1L);
        }
        return sum;
    }

    /** A key whose primary copy lies on another node. */
    private static int remoteKey(Ignite asking, String cache) {
        ClusterNode own = asking.cluster().localNode();
        for (int key = 0; key < 1_000; key++) {
            if (!asking.affinity(cache).isPrimary(own, key)) {
                return key;
            }
        }
        throw new AssertionError("all partitions lie on one node");
    }

    private static void compute(Ignite a, Ignite client) {
        assertThat(a.compute().broadcast(() -> 1)).hasSize(4);
        int sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += a.compute(a.cluster().forRemotes()).apply(x -> x + 1, i);
        }
        assertThat(sum).isEqualTo(100 * 101 / 2);
        assertThat(client.compute().broadcast(() -> 1)).hasSize(4);
    }

    private static void messaging(Ignite a, Ignite b) {
        ConcurrentLinkedQueue<Integer> heard = new ConcurrentLinkedQueue<>();
        UUID listener = UUID.randomUUID();
        b.message().localListen(listener, (from, number) -> {
            heard.add((Integer) number);
            return true;
        });
        for (int i = 0; i < 1_000; i++) {
            a.message(a.cluster().forNode(b.cluster().localNode())).sendOrdered(listener, i, 30_000);
        }
        TestGrid.await("all messages", () -> heard.size() >= 1_000);
        int next = 0;
        for (int number : heard) {
            assertThat(number).isEqualTo(next++);
        }
        assertThat(next).isEqualTo(1_000);
    }

    private static void continuousQuery(Ignite a, Ignite c) {
        IgniteCache<Integer, Integer> cache = a.getOrCreateCache(cache("watched", CacheAtomicityMode.ATOMIC));
        Map<Integer, AtomicInteger> seen = new ConcurrentHashMap<>();
        ContinuousQuery<Integer, Integer> query = new ContinuousQuery<>();
        query.setLocalListener(events -> events.forEach(event ->
                seen.computeIfAbsent(event.getKey(), key -> new AtomicInteger()).incrementAndGet()));
        try (QueryCursor<?> open = c.<Integer, Integer>cache("watched").query(query)) {
            for (int i = 0; i < 500; i++) {
                cache.put(i, i);
            }
            TestGrid.await("all events", () -> seen.size() == 500);
            assertThat(seen.values()).allMatch(count -> count.get() == 1);
        }
    }

    private static void sql(Ignite b, Ignite client) {
        IgniteCache<?, ?> any = b.cache("atomic");
        any.query(new SqlFieldsQuery("CREATE TABLE Person (id INT PRIMARY KEY, name VARCHAR, age INT)"
                                + " WITH \"template=partitioned,backups=1\"")
                        .setSchema("PUBLIC"))
                .getAll();
        for (int i = 0; i < 100; i++) {
            any.query(new SqlFieldsQuery("INSERT INTO Person VALUES (?, ?, ?)")
                            .setArgs(i, "n" + i, i % 50)
                            .setSchema("PUBLIC"))
                    .getAll();
        }
        SqlFieldsQuery count =
                new SqlFieldsQuery("SELECT COUNT(*), SUM(age) FROM Person WHERE age >= 25").setSchema("PUBLIC");
        assertThat(any.query(count).getAll()).containsExactly(Arrays.asList(50L, 1850L));
        assertThat(client.cache("atomic").query(count).getAll()).containsExactly(Arrays.asList(50L, 1850L));
    }

    private static void streamer(Ignite c, Ignite a) {
        a.getOrCreateCache(cache("streamed", CacheAtomicityMode.ATOMIC));
        try (IgniteDataStreamer<Integer, String> streamer = c.dataStreamer("streamed")) {
            for (int i = 0; i < 10_000; i++) {
                streamer.addData(i, "s" + i);
            }
        }
        assertThat(a.cache("streamed").size()).isEqualTo(10_000);
        assertThat(a.<Integer, String>cache("streamed").get(9_999)).isEqualTo("s9999");
    }
}
