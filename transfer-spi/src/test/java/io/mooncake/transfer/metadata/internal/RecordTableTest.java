// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.metadata.MetadataListener;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.MetadataStore;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RecordTableTest {
    private static final UUID PEER = new UUID(-1, 2);
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);
    private final Deque<Runnable> events = new ArrayDeque<>();
    private final RecordTable table = new RecordTable(new UUID(1, 1), clock::get, events::add);

    @Test
    void drop_withoutOutage_isAtOnce() {
        table.resync(List.of(record("k", 1)));
        table.drop("k", PEER);
        assertThat(table.list("")).isEmpty();
    }

    @Test
    void drop_inOutage_isHeldUntilTheGraceEnds() {
        table.resync(List.of(record("k", 1), record("l", 1)));
        table.outageBegins();
        table.drop("k", PEER);
        clock.addAndGet(MetadataStore.RETURN_GRACE.toNanos() * 100);
        table.dropOverdue();
        assertThat(table.list("")).hasSize(2);

        table.outageEnds();
        table.resync(List.of());
        clock.addAndGet(MetadataStore.RETURN_GRACE.toNanos() - 1);
        table.dropOverdue();
        assertThat(table.list("")).hasSize(2);
        table.apply(record("l", 1));

        clock.addAndGet(1);
        table.dropOverdue();
        assertThat(table.list("")).containsExactly(record("l", 1));
        table.drop("l", PEER);
        assertThat(table.list("")).isEmpty();
    }

    @Test
    void outage_withinGrace_beginsTheGraceAnew() {
        table.resync(List.of(record("k", 1)));
        table.outageBegins();
        table.outageEnds();
        table.drop("k", PEER);
        clock.addAndGet(MetadataStore.RETURN_GRACE.toNanos() - 1);
        table.outageBegins();
        clock.addAndGet(10);
        table.dropOverdue();
        table.outageEnds();
        table.dropOverdue();
        assertThat(table.list("")).hasSize(1);
        clock.addAndGet(MetadataStore.RETURN_GRACE.toNanos());
        table.dropOverdue();
        assertThat(table.list("")).isEmpty();
    }

    @Test
    void apply_olderVersionOrOwn_isIgnored() {
        table.apply(record("k", 2));
        table.apply(record("k", 1));
        table.apply(new MetadataRecord("k", new UUID(1, 1), 9, new byte[0]));
        assertThat(table.get("k")).containsExactly(record("k", 2));
    }

    @Test
    void watch_slowListener_hearsTheLastStateOnly() {
        List<String> log = new ArrayList<>();
        table.watch("", new MetadataListener() {
            @Override
            public void added(MetadataRecord record) {
                log.add("+" + record.key() + record.version());
            }

            @Override
            public void replaced(MetadataRecord before, MetadataRecord now) {
                log.add(now.key() + before.version() + ">" + now.version());
            }
        });
        for (int i = 1; i <= 1000; i++) {
            table.apply(record("k", i));
            table.drop("gone", PEER);
        }
        assertThat(events).hasSize(1);
        events.remove().run();
        table.apply(record("k", 1001));
        events.remove().run();
        assertThat(log).containsExactly("+k1000", "k1000>1001");
    }

    private static MetadataRecord record(String key, long version) {
        return new MetadataRecord(key, PEER, version, new byte[] {(byte) version});
    }
}
