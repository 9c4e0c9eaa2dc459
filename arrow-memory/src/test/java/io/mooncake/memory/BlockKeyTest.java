// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class BlockKeyTest {
    @Test
    void forms_randomKeys_roundTripAndOrderAlike() {
        SplittableRandom random = Seeds.random("BlockKeyTest");
        BlockKey last = new BlockKey(0, 0, 0, 0);
        for (int i = 0; i < 1000; i++) {
            byte[] bytes = new byte[32];
            random.nextBytes(bytes);
            BlockKey key = BlockKey.of(bytes);
            assertThat(key.toBytes()).isEqualTo(bytes);
            assertThat(BlockKey.parse(key.hex())).isEqualTo(key).hasSameHashCodeAs(key);
            assertThat(Integer.signum(key.compareTo(last)))
                    .isEqualTo(Integer.signum(key.hex().compareTo(last.hex())));
            last = key;
        }
    }

    @Test
    void parse_anythingElse_isRefused() {
        for (String text : new String[] {"", "ab", "g".repeat(64), "AB".repeat(32), "ab".repeat(33)}) {
            assertThatThrownBy(() -> BlockKey.parse(text)).hasMessageContaining("64 lower-case hexadecimal digits");
        }
        assertThatThrownBy(() -> BlockKey.of(new byte[31])).hasMessageContaining("block key bytes: 31 (expected: 32)");
    }
}
