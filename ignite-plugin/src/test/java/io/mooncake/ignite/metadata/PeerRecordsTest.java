// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.metadata.MetadataFrameDescriptor.Entry;
import io.mooncake.ignite.metadata.MetadataFrameDescriptor.Frame;
import io.mooncake.ignite.metadata.MetadataFrameDescriptor.Type;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.internal.RecordTable;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class PeerRecordsTest {
    private static final UUID OWNER = new UUID(7, 7);
    private static final UUID NODE = new UUID(8, 8);

    private final RecordTable table = new RecordTable(new UUID(1, 1), System::nanoTime, Runnable::run);
    private final PeerRecords peers = new PeerRecords(table);

    @Test
    void take_overALossyChannel_endsLikeTheOwner() {
        long seed = Long.getLong("mooncake.seed", new Random().nextLong());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        TreeMap<String, MetadataRecord> truth = new TreeMap<>();
        Deque<byte[]> channel = new ArrayDeque<>();
        long sequence = 0;
        int rounds = Boolean.getBoolean("mooncake.long") ? 200_000 : 5_000;
        for (int i = 0; i < rounds; i++) {
            String key = "k" + random.nextInt(8);
            sequence++;
            MetadataRecord record = new MetadataRecord(key, OWNER, sequence, new byte[random.nextInt(5)]);
            boolean removed = random.nextInt(3) == 0;
            if (removed) {
                truth.remove(key);
            } else {
                truth.put(key, record);
            }
            channel.add(MetadataFrameDescriptor.change(OWNER, sequence, new Entry(record, removed)));
            if (random.nextInt(20) == 0) {
                channel.add(MetadataFrameDescriptor.plain(Type.DIGEST, OWNER, sequence));
            }
            while (channel.size() > random.nextInt(4)) {
                deliver(channel, random.nextInt(10) != 0, truth, sequence);
            }
        }
        channel.add(MetadataFrameDescriptor.plain(Type.DIGEST, OWNER, sequence));
        while (!channel.isEmpty()) {
            deliver(channel, true, truth, sequence);
        }
        assertThat(table.list("")).containsExactlyElementsOf(truth.values());

        peers.take(NODE, new Frame(Type.BYE, OWNER, sequence, 0, 1, List.of()));
        assertThat(table.list("")).isEmpty();
    }

    /** Takes a frame off; a question is answered by a snapshot in two parts behind what is under way. */
    private void deliver(Deque<byte[]> channel, boolean arrives, TreeMap<String, MetadataRecord> truth, long sequence) {
        Frame frame = MetadataFrameDescriptor.decode(channel.remove()).orElseThrow();
        if (arrives && peers.take(NODE, frame)) {
            List<Entry> all =
                    truth.values().stream().map(each -> new Entry(each, false)).toList();
            int half = all.size() / 2;
            channel.add(MetadataFrameDescriptor.snapshot(OWNER, sequence, 0, 2, all.subList(0, half)));
            channel.add(MetadataFrameDescriptor.snapshot(OWNER, sequence, 1, 2, all.subList(half, all.size())));
        }
    }

    @Test
    void take_fromAnotherNode_forgetsTheEarlierLife() {
        MetadataRecord record = new MetadataRecord("k", OWNER, 1, new byte[0]);
        peers.take(NODE, new Frame(Type.CHANGE, OWNER, 1, 0, 1, List.of(new Entry(record, false))));
        assertThat(table.list("")).hasSize(1);
        assertThat(peers.take(new UUID(9, 9), new Frame(Type.HELLO, OWNER, 5, 0, 1, List.of())))
                .isTrue();
        assertThat(table.list("")).isEmpty();
    }

    @Test
    void retain_dropsWhatLeftNodesTold() {
        MetadataRecord record = new MetadataRecord("k", OWNER, 1, new byte[0]);
        peers.take(NODE, new Frame(Type.CHANGE, OWNER, 1, 0, 1, List.of(new Entry(record, false))));
        peers.retain(node -> false);
        assertThat(table.list("")).isEmpty();
    }

    @Test
    void decode_cutOrRandomBytes_isEmptyOrAFrame() {
        byte[] whole = MetadataFrameDescriptor.snapshot(
                OWNER, 3, 0, 1, List.of(new Entry(new MetadataRecord("key", OWNER, 2, new byte[9]), false)));
        assertThat(MetadataFrameDescriptor.decode(whole)).isPresent();
        for (int length = 0; length < whole.length; length++) {
            assertThat(MetadataFrameDescriptor.decode(Arrays.copyOf(whole, length)))
                    .isEmpty();
        }
        Random random = new Random(5);
        for (int i = 0; i < 20_000; i++) {
            byte[] bent = whole.clone();
            for (int flips = random.nextInt(6); flips >= 0; flips--) {
                bent[random.nextInt(bent.length)] = (byte) random.nextInt();
            }
            MetadataFrameDescriptor.decode(bent);
        }
    }
}
