// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What every metadata store must do; each test has a cluster of its own. */
public abstract class MetadataStoreContract {
    protected static final int WAIT_MILLIS = 40_000;

    private final List<MetadataStore> opened = new ArrayList<>();

    /** A store of another node of the same cluster as all others of this test. */
    protected abstract MetadataStore openNode() throws Exception;

    private MetadataStore first;
    private MetadataStore second;

    protected final MetadataStore open() throws Exception {
        MetadataStore store = openNode();
        opened.add(store);
        assertThat(store.awaitSynced(deadline())).isTrue();
        return store;
    }

    @BeforeEach
    void openTwo() throws Exception {
        first = open();
        second = open();
    }

    @AfterEach
    void closeAll() {
        opened.forEach(MetadataStore::close);
    }

    @Test
    void put_isSeenAtOnceByItsOwnerAndSoonByOthers() {
        assertThat(first.put("a/b", bytes("one"), deadline())).isTrue();

        assertThat(texts(first.get("a/b"))).containsExactly("one");
        eventually(() -> texts(second.get("a/b")).equals(List.of("one")));
        assertThat(second.get("a/b").get(0).owner()).isEqualTo(first.owner());
    }

    @Test
    void put_byTwoOwnersUnderOneKey_keepsBoth() {
        first.put("same", bytes("mine"), deadline());
        second.put("same", bytes("yours"), deadline());

        for (MetadataStore store : List.of(first, second)) {
            eventually(() -> texts(store.get("same")).stream().sorted().toList().equals(List.of("mine", "yours")));
        }
        first.remove("same", deadline());
        eventually(() -> texts(second.get("same")).equals(List.of("yours")));
        assertThat(texts(first.get("same"))).containsExactly("yours");
    }

    @Test
    void put_again_replacesWithAHigherVersion() {
        first.put("k", bytes("1"), deadline());
        first.put("k", bytes("2"), deadline());

        eventually(() -> texts(second.get("k")).equals(List.of("2")));
        long version = second.get("k").get(0).version();
        first.put("k", bytes("3"), deadline());
        eventually(() -> texts(second.get("k")).equals(List.of("3")));
        assertThat(second.get("k").get(0).version()).isGreaterThan(version);
    }

    @Test
    void list_isByPrefixSortedByKey() {
        for (String key : List.of("p/2", "q/1", "p/1", "p")) {
            first.put(key, bytes(key), deadline());
        }
        eventually(() -> texts(second.list("")).containsAll(List.of("p", "p/1", "p/2", "q/1")));
        assertThat(texts(second.list("p/"))).containsExactly("p/1", "p/2");
        assertThat(texts(second.list("p"))).containsExactly("p", "p/1", "p/2");
        assertThat(second.list("r")).isEmpty();
    }

    @Test
    void limits_areChecked() {
        assertRefused(() -> first.put("", bytes(""), deadline()));
        assertRefused(() -> first.put("a//b", bytes(""), deadline()));
        assertRefused(() -> first.put("a b", bytes(""), deadline()));
        assertRefused(() -> first.put("a".repeat(201), bytes(""), deadline()));
        assertRefused(() -> first.put("a", new byte[MetadataStore.MAX_VALUE_BYTES + 1], deadline()));
        byte[] longest = new byte[MetadataStore.MAX_VALUE_BYTES];
        new Random(7).nextBytes(longest);
        assertThat(first.put("a".repeat(200), longest, deadline())).isTrue();
        eventually(() -> second.get("a".repeat(200)).stream().anyMatch(each -> Arrays.equals(each.value(), longest)));
        assertThat(first.put("empty", new byte[0], deadline())).isTrue();
        eventually(() -> second.get("empty").size() == 1);
    }

    @Test
    void watch_tellsWhatIsThereThenWhatHappens() {
        first.put("w/1", bytes("a"), deadline());
        first.put("other", bytes("x"), deadline());
        eventually(() -> second.get("w/1").size() == 1);
        Follower follower = new Follower();
        MetadataSubscription subscription = second.watch("w/", follower);
        eventually(() -> follower.log().containsAll(List.of("+w/1=a", "resync 1")));

        first.put("w/2", bytes("b"), deadline());
        eventually(() -> follower.log().contains("+w/2=b"));
        first.put("w/1", bytes("c"), deadline());
        eventually(() -> follower.log().contains("w/1=a>c"));
        first.remove("w/2", deadline());
        eventually(() -> follower.log().contains("-w/2=b"));
        assertThat(follower.known()).containsExactlyEntriesOf(Map.of("w/1", "c"));

        subscription.close();
        first.put("w/3", bytes("d"), deadline());
        eventually(() -> second.get("w/3").size() == 1);
        assertThat(follower.known()).containsOnlyKeys("w/1");
    }

    @Test
    void watch_ofOwnRecords_hearsThemToo() {
        Follower follower = new Follower();
        first.watch("", follower);
        first.put("own", bytes("1"), deadline());
        eventually(() -> follower.log().contains("+own=1"));
    }

    @Test
    void watch_listenerThatThrows_isCalledAgain() throws InterruptedException {
        CountDownLatch calls = new CountDownLatch(2);
        second.watch("t/", new MetadataListener() {
            @Override
            public void added(MetadataRecord record) {
                calls.countDown();
                throw new IllegalStateException("on purpose");
            }
        });
        first.put("t/1", bytes(""), deadline());
        first.put("t/2", bytes(""), deadline());
        assertThat(calls.await(WAIT_MILLIS, TimeUnit.MILLISECONDS)).isTrue();
    }

    @Test
    void close_takesOwnRecordsBack_andRefusesMore() {
        first.put("mine", bytes("1"), deadline());
        eventually(() -> second.get("mine").size() == 1);
        first.close();
        first.close();

        eventually(() -> second.get("mine").isEmpty());
        assertThat(first.status().state()).isEqualTo(MetadataStatus.State.CLOSED);
        assertThatExceptionOfType(MooncakeException.class)
                .isThrownBy(() -> first.put("more", bytes(""), deadline()))
                .extracting(MooncakeException::code)
                .isEqualTo(MooncakeException.Code.ILLEGAL_STATE);
    }

    @Test
    void open_late_seesWhatIsThere() throws Exception {
        first.put("early", bytes("1"), deadline());
        MetadataStore third = open();
        eventually(() -> texts(third.get("early")).equals(List.of("1")));
    }

    @Test
    void register_showsTheEngineUntilUnregistered() {
        PeerAddress address = new PeerAddress(UUID.randomUUID(), "::1", 1, 2, 3);
        EngineRecord engine = new EngineRecord(address, Map.of(EngineRecord.NAME, "node=ä\n1", "rack", "r7"));
        List<String> log = Collections.synchronizedList(new ArrayList<>());
        second.watchEngines(new EngineListener() {
            @Override
            public void added(EngineRecord each) {
                log.add("+" + each.address().incarnation());
            }

            @Override
            public void removed(EngineRecord each) {
                log.add("-" + each.address().incarnation());
            }
        });
        assertThat(first.register(engine, deadline())).isTrue();
        eventually(() -> second.findEngine(address.incarnation()).isPresent());
        assertThat(second.findEngine(address.incarnation())).contains(engine);
        assertThat(second.engines()).contains(engine);
        eventually(() -> log.contains("+" + address.incarnation()));

        first.unregister(address.incarnation(), deadline());
        eventually(() -> second.findEngine(address.incarnation()).isEmpty());
        eventually(() -> log.contains("-" + address.incarnation()));
    }

    @Test
    void engines_recordsOfStrangers_areLeftOut() {
        first.put("engine/" + UUID.randomUUID(), bytes("no address"), deadline());
        first.put("engine/x", bytes(new PeerAddress(UUID.randomUUID(), "h", 1, 2, 3).encode()), deadline());
        eventually(() -> second.list("engine/").size() >= 2);
        assertThat(second.engines()).isEmpty();
    }

    @Test
    void randomWrites_allStoresAndFollowersEndAlike() throws Exception {
        long seed = Long.getLong("mooncake.seed", new Random().nextLong());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        List<MetadataStore> stores = List.of(first, second, open());
        List<Follower> followers = new ArrayList<>();
        for (MetadataStore store : stores) {
            Follower follower = new Follower();
            followers.add(follower);
            store.watch("r/", follower);
        }
        Map<String, String> truth = new HashMap<>();
        int writes = Boolean.getBoolean("mooncake.long") ? 5_000 : 200;
        for (int i = 0; i < writes; i++) {
            MetadataStore store = stores.get(random.nextInt(stores.size()));
            String key = "r/" + random.nextInt(10);
            if (random.nextInt(3) == 0) {
                store.remove(key, deadline());
                truth.remove(key + store.owner());
            } else {
                store.put(key, bytes("" + i), deadline());
                truth.put(key + store.owner(), "" + i);
            }
        }
        for (int i = 0; i < stores.size(); i++) {
            MetadataStore store = stores.get(i);
            Follower follower = followers.get(i);
            eventually(() -> store.list("r/").stream()
                    .collect(Collectors.toMap(each -> each.key() + each.owner(), each -> text(each)))
                    .equals(truth));
            eventually(() -> follower.byOwner().equals(truth));
        }
    }

    // ---------------------------------------------------------------- tools

    private static void assertRefused(Runnable call) {
        assertThatExceptionOfType(MooncakeException.class)
                .isThrownBy(call::run)
                .extracting(MooncakeException::code)
                .isEqualTo(MooncakeException.Code.INVALID_ARGUMENT);
    }

    /** Long enough for whatever must happen. */
    protected static Deadline deadline() {
        return Deadline.ofMillis(WAIT_MILLIS);
    }

    protected static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    protected static String text(MetadataRecord record) {
        return new String(record.value(), StandardCharsets.UTF_8);
    }

    protected static List<String> texts(List<MetadataRecord> records) {
        return records.stream().map(MetadataStoreContract::text).toList();
    }

    /** Waits until it holds. */
    protected static void eventually(BooleanSupplier condition) {
        Deadline deadline = deadline();
        while (!condition.getAsBoolean()) {
            assertThat(deadline.expired()).as("waited " + WAIT_MILLIS + " ms").isFalse();
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Believes only what it is told. */
    public static final class Follower implements MetadataListener {
        private final List<String> log = new ArrayList<>();
        private final Map<String, MetadataRecord> records = new HashMap<>();

        @Override
        public synchronized void added(MetadataRecord record) {
            log.add("+" + record.key() + "=" + text(record));
            assertThat(records.put(record.key() + record.owner(), record)).isNull();
        }

        @Override
        public synchronized void replaced(MetadataRecord before, MetadataRecord now) {
            log.add(now.key() + "=" + text(before) + ">" + text(now));
            assertThat(records.put(now.key() + now.owner(), now)).isEqualTo(before);
        }

        @Override
        public synchronized void removed(MetadataRecord record) {
            log.add("-" + record.key() + "=" + text(record));
            assertThat(records.remove(record.key() + record.owner())).isEqualTo(record);
        }

        @Override
        public synchronized void resynced(List<MetadataRecord> all) {
            log.add("resync " + all.size());
            assertThat(all).containsExactlyInAnyOrderElementsOf(records.values());
        }

        public synchronized List<String> log() {
            return List.copyOf(log);
        }

        public synchronized Map<String, String> known() {
            return records.values().stream().collect(Collectors.toMap(MetadataRecord::key, each -> text(each)));
        }

        public synchronized Map<String, String> byOwner() {
            Map<String, String> result = new HashMap<>();
            records.forEach((id, record) -> result.put(id, text(record)));
            return result;
        }
    }
}
