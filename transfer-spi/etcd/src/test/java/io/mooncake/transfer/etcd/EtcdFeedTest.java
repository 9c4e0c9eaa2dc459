// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Response;
import io.etcd.jetcd.options.CompactOption;
import io.mooncake.transfer.metadata.MetadataListener;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.internal.OwnRecords;
import io.mooncake.transfer.metadata.internal.RecordTable;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The feed alone against one etcd whose history is cut behind the writer. */
class EtcdFeedTest {
    private final UUID writer = UUID.randomUUID();
    private final Map<String, Long> truth = new TreeMap<>();
    private final Map<String, Long> told = new ConcurrentSkipListMap<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final ExecutorService events = Executors.newSingleThreadExecutor();

    private EtcdServers servers;
    private EtcdConnection connection;
    private Client client;
    private EtcdFeed feed;
    private RecordTable table;

    @BeforeEach
    void start() throws Exception {
        servers = EtcdServers.of(1);
        String address = "http://" + servers.place();
        connection = new EtcdConnection(new EtcdSettings(List.of(URI.create(address)), "", ""), threads);
        client = Client.builder().endpoints(address).build();
        UUID owner = UUID.randomUUID();
        table = new RecordTable(owner, System::nanoTime, events);
        table.watch("", new Follower(told));
        feed = new EtcdFeed("c", owner, table, new OwnRecords(owner), System::nanoTime, 10_000_000_000L, () -> {});
    }

    @AfterEach
    void stop() throws Exception {
        if (servers != null) {
            feed.stop();
            connection.close();
            client.close();
            servers.close();
        }
        threads.shutdown();
        events.shutdown();
    }

    @Test
    void follow_fromARevisionThatIsGone_listsAnewWithoutHoldingAnybody() throws Exception {
        writeBatch(1);
        long revision = list();
        writeBatch(2);
        writeBatch(3);
        feed.follow(connection, revision);

        for (long end = System.nanoTime() + 60_000_000_000L; !feed.broken(); Thread.sleep(5)) {
            assertThat(System.nanoTime() - end).isNegative();
        }
        assertThat(feed.brokenBecause()).contains("compacted");
        awaitTruth();
    }

    /** Tries again where etcd, on a busy machine, took too long to answer. */
    private long list() throws Exception {
        long end = System.nanoTime() + 60_000_000_000L;
        while (true) {
            try {
                return feed.list(connection);
            } catch (EtcdFailure e) {
                assertThat(e.kind()).isEqualTo(EtcdFailure.Kind.UNAVAILABLE);
                assertThat(System.nanoTime() - end).isNegative();
            }
        }
    }

    @Test
    void start_againAndAgainWhileHistoryIsCompacted_missesNothing() throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        var writing = threads.submit(() -> {
            for (long round = 1; !stop.get(); round++) {
                writeBatch(round);
            }
            return null;
        });
        int starts = Boolean.getBoolean("mooncake.long") ? 2_000 : 40;
        int compacted = 0;
        for (int i = 0; i < starts; i++) {
            try {
                feed.start(connection);
            } catch (EtcdFailure e) {
                assertThat(e.kind()).isEqualTo(EtcdFailure.Kind.UNAVAILABLE);
            }
            Thread.sleep(i % 20);
            compacted += feed.broken() ? 1 : 0;
        }
        stop.set(true);
        writing.get();
        System.out.println(compacted + " of " + starts + " rounds found their history compacted");
        awaitTruth();
    }

    private void awaitTruth() throws Exception {
        for (long end = System.nanoTime() + 90_000_000_000L; !told.equals(truth); Thread.sleep(10)) {
            if (feed.broken()) {
                feed.follow(connection, list());
            }
            // What is gone is held for the grace if etcd was silent for too long.
            table.dropOverdue();
            assertThat(System.nanoTime() - end).as(told + " is not " + truth).isNegative();
        }
    }

    /** Writes or deletes ten keys at once, and cuts the history behind them. */
    private void writeBatch(long round) throws Exception {
        List<CompletableFuture<? extends Response>> answers = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            String key = "k/" + i;
            ByteSequence name = EtcdConnection.bytes(EtcdRecordDescriptor.key("c", writer, key));
            if ((round + i) % 5 == 0) {
                answers.add(client.getKVClient().delete(name));
                truth.remove(key);
            } else {
                MetadataRecord record = new MetadataRecord(key, writer, round, new byte[0]);
                answers.add(client.getKVClient().put(name, ByteSequence.from(EtcdRecordDescriptor.value(record))));
                truth.put(key, round);
            }
        }
        long revision = 0;
        for (CompletableFuture<? extends Response> each : answers) {
            revision = Math.max(revision, each.get().getHeader().getRevision());
        }
        client.getKVClient().compact(revision, CompactOption.DEFAULT).get();
    }

    private record Follower(Map<String, Long> told) implements MetadataListener {
        @Override
        public void added(MetadataRecord record) {
            told.put(record.key(), record.version());
        }

        @Override
        public void replaced(MetadataRecord before, MetadataRecord now) {
            told.put(now.key(), now.version());
        }

        @Override
        public void removed(MetadataRecord record) {
            told.remove(record.key());
        }
    }
}
