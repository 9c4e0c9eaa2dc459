// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** What an owner says about a leased block: fixed bytes, and any difference is seen. */
class LeaseDescriptionDescriptorTest {
    private static final BlockKey KEY = new BlockKey(1, 2, 3, 4);
    private static final BlockKey PARENT = new BlockKey(5, 6, 7, 8);
    private static final int[] PROMPT = {90, 91, 10, 11, 92};
    private static final String GOLDEN = "01"
            + "0000000000000001000000000000000200000000000000030000000000000004"
            + "0000000000000005000000000000000600000000000000070000000000000008"
            + "00000001" + "00000002" + "0000000a0000000b";

    @Test
    void encode_isGolden() {
        byte[] bytes = LeaseDescriptionDescriptor.encode(KEY, PARENT, 1, new int[] {10, 11});
        assertThat(HexFormat.of().formatHex(bytes)).isEqualTo(GOLDEN);
    }

    @Test
    void describes_theBlockWanted_isTrue() {
        byte[] golden = HexFormat.of().parseHex(GOLDEN);
        assertThat(LeaseDescriptionDescriptor.describes(golden, KEY, PARENT, 1, PROMPT, 2, 2))
                .isTrue();
    }

    @Test
    void describes_everyFlippedBit_isFalse() {
        byte[] golden = HexFormat.of().parseHex(GOLDEN);
        for (int bit = 0; bit < golden.length * 8; bit++) {
            byte[] flipped = golden.clone();
            flipped[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(LeaseDescriptionDescriptor.describes(flipped, KEY, PARENT, 1, PROMPT, 2, 2))
                    .as("bit " + bit)
                    .isFalse();
        }
    }

    @Test
    void describes_otherLengthOrPlace_isFalse() {
        byte[] golden = HexFormat.of().parseHex(GOLDEN);
        assertThat(LeaseDescriptionDescriptor.describes(new byte[0], KEY, PARENT, 1, PROMPT, 2, 2))
                .isFalse();
        assertThat(LeaseDescriptionDescriptor.describes(golden, KEY, PARENT, 1, PROMPT, 1, 2))
                .isFalse();
        assertThat(LeaseDescriptionDescriptor.describes(golden, KEY, PARENT, 1, PROMPT, 2, 3))
                .isFalse();
        assertThat(LeaseDescriptionDescriptor.describes(golden, PARENT, KEY, 1, PROMPT, 2, 2))
                .isFalse();
    }
}
