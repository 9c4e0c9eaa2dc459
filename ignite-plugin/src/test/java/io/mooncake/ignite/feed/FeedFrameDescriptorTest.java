// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.feed.FeedFrameDescriptor.Frame;
import io.mooncake.ignite.feed.FeedFrameDescriptor.FrameKind;
import io.mooncake.ignite.feed.FeedFrameDescriptor.Query;
import io.mooncake.ignite.feed.FeedFrameDescriptor.QueryKind;
import io.mooncake.memory.BlockKey;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The wire format is fixed: the golden bytes below are of version 1 and must stay readable. */
class FeedFrameDescriptorTest {
    private static final UUID INCARNATION = new UUID(0x0102030405060708L, 0x090A0B0C0D0E0F10L);
    private static final Frame FRAME = new Frame(
            FrameKind.EVENTS,
            INCARNATION,
            "smollm2",
            41,
            0,
            List.of(
                    BlockEvent.stored(new BlockKey(1, 2, 3, 4), new BlockKey(5, 6, 7, 8), 9, new int[] {10, 11}),
                    BlockEvent.removed(new BlockKey(-1, -2, -3, -4), RemovalCode.UNKNOWN)));
    private static final String GOLDEN_FRAME = "4d4b4631" + "01" + "01" + "0007" + "0102030405060708090a0b0c0d0e0f10"
            + "0000000000000029" + "0000000000000000" + "00000002" + "736d6f6c6c6d32"
            + "01" + "00000009"
            + "0000000000000001000000000000000200000000000000030000000000000004"
            + "0000000000000005000000000000000600000000000000070000000000000008"
            + "00000002" + "0000000a0000000b"
            + "02" + "00000000"
            + "fffffffffffffffffffffffffffffffefffffffffffffffdfffffffffffffffc"
            + "0000000000000000000000000000000000000000000000000000000000000000"
            + "00000000";
    private static final Query QUERY = new Query(QueryKind.REPAIR, INCARNATION, "p", 3, 300);
    private static final String GOLDEN_QUERY = "4d4b5131" + "01" + "01" + "0001" + "0102030405060708090a0b0c0d0e0f10"
            + "0000000000000003" + "000000000000012c" + "70";

    @Test
    void encode_frame_isGolden() {
        assertThat(HexFormat.of().formatHex(FeedFrameDescriptor.encode(FRAME))).isEqualTo(GOLDEN_FRAME);
        assertThat(FeedFrameDescriptor.decodeFrame(HexFormat.of().parseHex(GOLDEN_FRAME)))
                .isEqualTo(FRAME);
    }

    @Test
    void encode_query_isGolden() {
        assertThat(HexFormat.of().formatHex(FeedFrameDescriptor.encode(QUERY))).isEqualTo(GOLDEN_QUERY);
        assertThat(FeedFrameDescriptor.decodeQuery(HexFormat.of().parseHex(GOLDEN_QUERY)))
                .isEqualTo(QUERY);
    }

    @Test
    void decode_everyCut_isRefused() {
        byte[] whole = HexFormat.of().parseHex(GOLDEN_FRAME);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> FeedFrameDescriptor.decodeFrame(cut)).isInstanceOf(MooncakeException.class);
        }
        byte[] longer = Arrays.copyOf(whole, whole.length + 1);
        assertThatThrownBy(() -> FeedFrameDescriptor.decodeFrame(longer)).hasMessageContaining("trailing bytes: 1");
    }

    @Test
    void decode_otherVersion_isRefusedWithBoth() {
        byte[] bytes = HexFormat.of().parseHex(GOLDEN_FRAME);
        bytes[4] = 2;
        assertThatThrownBy(() -> FeedFrameDescriptor.decodeFrame(bytes)).hasMessage("version: 2 (expected: 1)");
    }

    @Test
    void decode_hugeCounts_areRefusedBeforeAllocation() {
        byte[] bytes = HexFormat.of().parseHex(GOLDEN_FRAME);
        for (int at : new int[] {40, 51 + 69}) {
            for (int huge : new int[] {Integer.MAX_VALUE, -1, Integer.MIN_VALUE, 1 << 30}) {
                byte[] wrong = bytes.clone();
                java.nio.ByteBuffer.wrap(wrong).putInt(at, huge);
                assertThatThrownBy(() -> FeedFrameDescriptor.decodeFrame(wrong)).isInstanceOf(MooncakeException.class);
            }
        }
    }

    @Test
    void decode_randomDamage_isRefusedOrAFrame() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        Random random = new Random(seed);
        byte[] whole = HexFormat.of().parseHex(GOLDEN_FRAME);
        int rounds = Boolean.getBoolean("mooncake.long") ? 1_000_000 : 20_000;
        for (int i = 0; i < rounds; i++) {
            byte[] damaged = whole.clone();
            for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
                damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
            }
            Throwable error = catchThrowable(() -> FeedFrameDescriptor.decodeFrame(damaged));
            assertThat(error == null || error instanceof MooncakeException)
                    .as("seed " + seed + " gave " + error)
                    .isTrue();
        }
    }
}
