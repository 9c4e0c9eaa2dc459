// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.feed.FeedFrameDescriptor.FrameKind;
import io.mooncake.ignite.feed.FeedFrameDescriptor.Query;
import io.mooncake.ignite.feed.FeedFrameDescriptor.QueryKind;
import io.mooncake.memory.BlockKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The wire format is fixed: the golden bytes below are of version 2 and must stay readable. */
class FeedFrameV2DescriptorTest {
    private static final UUID INCARNATION = new UUID(0x0102030405060708L, 0x090A0B0C0D0E0F10L);
    private static final List<BlockEvent> EVENTS = List.of(
            BlockEvent.stored(new BlockKey(1, 2, 3, 4), new BlockKey(5, 6, 7, 8), 9, new int[] {10, 300}),
            BlockEvent.stored(
                    new BlockKey(9, 10, 11, 12), new BlockKey(1, 2, 3, 4), 10, new int[] {-1}, BlockPlace.SSD),
            BlockEvent.placed(new BlockKey(-1, -2, -3, -4), BlockPlace.BOTH),
            BlockEvent.removed(new BlockKey(1, 2, 3, 4), RemovalCode.LOST));
    private static final String KEY_1 = "0000000000000001000000000000000200000000000000030000000000000004";
    private static final String GOLDEN_FRAME = "4d4b4632" + "02" + "01" + "07" + "00"
            + "0102030405060708090a0b0c0d0e0f10"
            + "0000000000000029" + "0000000000000000" + "00000004" + "736d6f6c6c6d32"
            + "01" + KEY_1 + "09" + "0000000000000005000000000000000600000000000000070000000000000008"
            + "02" + "0a" + "ac02"
            + "15" + "0000000000000009000000000000000a000000000000000b000000000000000c" + "01" + "ffffffff0f"
            + "0b" + "fffffffffffffffffffffffffffffffefffffffffffffffdfffffffffffffffc"
            + "62" + KEY_1;
    private static final FeedFrame FRAME =
            new FeedFrame(FrameKind.EVENTS, INCARNATION, "smollm2", 41, 0, 4, FeedFrame.records(EVENTS));
    private static final String GOLDEN_QUERY = "4d4b5132" + "02" + "01" + "0001" + "0102030405060708090a0b0c0d0e0f10"
            + "0000000000000003" + "000000000000012c" + "70";

    private static byte[] golden() {
        return HexFormat.of().parseHex(GOLDEN_FRAME);
    }

    @Test
    void encode_frame_isGolden() {
        assertThat(HexFormat.of().formatHex(FeedFrameV2Descriptor.encode(FRAME)))
                .isEqualTo(GOLDEN_FRAME);
        FeedFrame read = FeedFrame.decode(golden());
        assertThat(read).isEqualTo(FRAME);
        assertThat(read.events()).isEqualTo(EVENTS);
    }

    @Test
    void encode_query_isGolden() {
        Query query = new Query(QueryKind.REPAIR, INCARNATION, "p", 3, 300);
        assertThat(HexFormat.of().formatHex(FeedFrameV2Descriptor.encode(query)))
                .isEqualTo(GOLDEN_QUERY);
        assertThat(FeedFrameV2Descriptor.decodeQuery(HexFormat.of().parseHex(GOLDEN_QUERY)))
                .isEqualTo(query);
        assertThatThrownBy(() -> FeedFrameDescriptor.decodeQuery(HexFormat.of().parseHex(GOLDEN_QUERY)))
                .isInstanceOf(MooncakeException.class);
    }

    @Test
    void toVersion1_everyKind_saysWhatCanBeLeased() {
        BlockKey filling = new BlockKey(7, 7, 7, 7);
        FeedFrame frame = new FeedFrame(
                FrameKind.EVENTS,
                INCARNATION,
                "p",
                1,
                0,
                4,
                FeedFrame.records(List.of(
                        EVENTS.get(0),
                        EVENTS.get(2),
                        EVENTS.get(3),
                        BlockEvent.stored(filling, filling, 0, new int[0], BlockPlace.FILLING))));
        FeedFrame old = FeedFrame.decode(frame.encode(1));
        assertThat(old.first()).isEqualTo(1);
        assertThat(old.events())
                .containsExactly(
                        EVENTS.get(0),
                        BlockEvent.stored(EVENTS.get(2).key(), new BlockKey(0, 0, 0, 0), 0, new int[0]),
                        BlockEvent.removed(EVENTS.get(3).key(), RemovalCode.UNKNOWN),
                        BlockEvent.removed(filling, RemovalCode.UNKNOWN));
    }

    @Test
    void records_chainOf16Tokens_take82BytesAndLess() {
        int[] tokens = new int[16];
        Arrays.setAll(tokens, i -> 3_000 + 2_900 * i);
        List<BlockEvent> chain = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            chain.add(BlockEvent.stored(new BlockKey(i, 1, 1, 1), new BlockKey(i - 1, 1, 1, 1), i, tokens));
        }
        int bytes = FeedFrame.records(chain).remaining();
        System.out.println("feed: " + bytes / 100.0 + " bytes an event of 16 tokens in a chain");
        assertThat(bytes).isLessThanOrEqualTo(100 * 82 + 40);
    }

    @Test
    void decode_everyCut_isRefused() {
        byte[] whole = golden();
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> FeedFrame.decode(cut))
                    .as("%d bytes", length)
                    .isInstanceOf(MooncakeException.class);
        }
        byte[] longer = Arrays.copyOf(whole, whole.length + 1);
        assertThatThrownBy(() -> FeedFrame.decode(longer)).hasMessageContaining("trailing bytes: 1");
    }

    @Test
    void decode_hugeCounts_areRefusedBeforeAllocation() {
        for (int huge : new int[] {Integer.MAX_VALUE, -1, Integer.MIN_VALUE, 1 << 30}) {
            byte[] wrong = golden();
            java.nio.ByteBuffer.wrap(wrong).putInt(40, huge);
            assertThatThrownBy(() -> FeedFrame.decode(wrong)).isInstanceOf(MooncakeException.class);
        }
    }

    @Test
    void decode_randomDamage_isRefusedOrAFrame() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        Random random = new Random(seed);
        int rounds = Boolean.getBoolean("mooncake.long") ? 1_000_000 : 20_000;
        for (int i = 0; i < rounds; i++) {
            byte[] damaged = golden();
            for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
                damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
            }
            Throwable error = catchThrowable(() -> FeedFrame.decode(damaged));
            assertThat(error == null || error instanceof MooncakeException)
                    .as("seed " + seed + " gave " + error)
                    .isTrue();
        }
    }
}
