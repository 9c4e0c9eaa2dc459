// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.control.ControlFrameDescriptor.Frame;
import java.util.HexFormat;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The frame on the wire does not change, and no bytes upset the decoder. */
final class ControlFrameDescriptorTest {
    private static final Frame FRAME = new Frame(
            ControlFrameDescriptor.REQUEST,
            ControlFrameDescriptor.NONE,
            0x0102030405060708L,
            new UUID(0x1111111122222222L, 0x3333333344444444L),
            new UUID(0x5555555566666666L, 0x7777777788888888L),
            "echo",
            new byte[] {9, 8, 7});
    private static final String GOLDEN = "4d4b4331" + "02010004" + "0807060504030201" + "2222222211111111"
            + "4444444433333333" + "6666666655555555" + "8888888877777777" + "6563686f" + "00".repeat(28)
            + "03000000" + "1cf556d1" + "090807";

    @Test
    void encode_frame_isGolden() {
        assertThat(HexFormat.of().formatHex(ControlFrameDescriptor.encode(FRAME)))
                .isEqualTo(GOLDEN);
    }

    @Test
    void decode_golden_isTheFrame() {
        Frame frame = ControlFrameDescriptor.decode(HexFormat.of().parseHex(GOLDEN));
        assertThat(frame).usingRecursiveComparison().isEqualTo(FRAME);
    }

    @Test
    void decode_anyBitFlipped_isNull() {
        for (int bit = 0; bit < GOLDEN.length() * 4; bit++) {
            byte[] frame = HexFormat.of().parseHex(GOLDEN);
            frame[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(ControlFrameDescriptor.decode(frame)).as("bit %d", bit).isNull();
        }
    }

    @Test
    void decode_randomAndMutated_isNullOrSound() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("decode_randomAndMutated mooncake.seed=" + seed);
        Random random = new Random(seed);
        byte[] good = ControlFrameDescriptor.encode(FRAME);
        int rounds = Boolean.getBoolean("mooncake.long") ? 5_000_000 : 200_000;
        for (int i = 0; i < rounds; i++) {
            byte[] bytes = random.nextBoolean()
                    ? java.util.Arrays.copyOf(good, random.nextInt(good.length + 20))
                    : new byte[random.nextInt(200)];
            if (bytes.length > 0) {
                for (int flips = random.nextInt(6); flips >= 0; flips--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
                }
            }
            Frame frame = ControlFrameDescriptor.decode(bytes);
            if (frame != null) {
                assertThat(frame.payload().length).isEqualTo(bytes.length - ControlFrameDescriptor.HEADER_BYTES);
            }
        }
        assertThat(ControlFrameDescriptor.decode(null)).isNull();
    }
}
