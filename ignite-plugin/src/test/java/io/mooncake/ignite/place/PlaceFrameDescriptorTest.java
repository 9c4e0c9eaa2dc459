// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.place.PlaceFrame.Answer;
import io.mooncake.ignite.place.PlaceFrame.Hot;
import io.mooncake.ignite.place.PlaceFrame.HotBlocks;
import io.mooncake.ignite.place.PlaceFrame.HotQuery;
import io.mooncake.ignite.place.PlaceFrame.Offer;
import io.mooncake.ignite.place.PlaceFrame.Outcome;
import io.mooncake.memory.BlockKey;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The bytes between nodes of different versions, and what comes from elsewhere. */
class PlaceFrameDescriptorTest {
    private static final BlockKey KEY = new BlockKey(1, 2, 3, 4);
    private static final BlockKey OTHER = new BlockKey(5, 6, 7, -8);

    private static final List<PlaceFrame> FRAMES = List.of(
            new Offer(7, new UUID(1, 2), "tiny", "acme", 5000, List.of(KEY, OTHER)),
            new Answer(7, List.of(Outcome.STORED, Outcome.NO_ROOM)),
            new HotQuery("tiny", 100),
            new HotBlocks(List.of(new Hot(KEY, 9, "default"), new Hot(OTHER, 0, "acme"))),
            new HotBlocks(List.of()));

    @Test
    void decode_encoded_isTheSame() {
        for (PlaceFrame frame : FRAMES) {
            assertThat(PlaceFrameDescriptor.decode(PlaceFrameDescriptor.encode(frame)))
                    .isEqualTo(frame);
        }
    }

    @Test
    void encode_golden() {
        assertThat(HexFormat.of().formatHex(PlaceFrameDescriptor.encode(FRAMES.get(0))))
                .isEqualTo("0101" + "0000000000000007" + "0000000000000001" + "0000000000000002" + "00001388"
                        + "000474696e79" + "000461636d65" + "0002"
                        + "0000000000000001000000000000000200000000000000030000000000000004"
                        + "000000000000000500000000000000060000000000000007fffffffffffffff8");
        assertThat(HexFormat.of().formatHex(PlaceFrameDescriptor.encode(FRAMES.get(1))))
                .isEqualTo("0102" + "0000000000000007" + "0002" + "0002");
        assertThat(HexFormat.of().formatHex(PlaceFrameDescriptor.encode(FRAMES.get(2))))
                .isEqualTo("0103" + "00000064" + "000474696e79");
    }

    @Test
    void decode_anyBytes_isAFrameOrCorrupt() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("seed " + seed + " (-Dmooncake.seed=" + seed + ")");
        Random random = new Random(seed);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = PlaceFrameDescriptor.encode(FRAMES.get(random.nextInt(FRAMES.size())));
            int changes = 1 + random.nextInt(3);
            for (int change = 0; change < changes; change++) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            if (random.nextInt(4) == 0) {
                bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 8));
            }
            try {
                PlaceFrameDescriptor.decode(bytes);
            } catch (MooncakeException e) {
                assertThat(e.code()).isEqualTo(MooncakeException.Code.CORRUPT);
            }
        }
    }

    @Test
    void report_roundTripAndRefusals() {
        StoreReport report = new StoreReport(new UUID(3, 4), true, true, 0.25, 17, 2);
        byte[] bytes = StoreReportDescriptor.encode(report);
        assertThat(HexFormat.of().formatHex(bytes))
                .isEqualTo("01" + "0000000000000003" + "0000000000000004" + "03" + "3fd0000000000000"
                        + "0000000000000011" + "02");
        assertThat(StoreReportDescriptor.decode(Arrays.copyOf(bytes, 40))).isEqualTo(report);
        assertThatThrownBy(() -> StoreReportDescriptor.decode(Arrays.copyOf(bytes, 34)))
                .hasMessageContaining("34 bytes");
        bytes[18] = 0x7f;
        assertThatThrownBy(() -> StoreReportDescriptor.decode(bytes)).hasMessageContaining("free share");
    }
}
