// SPDX-License-Identifier: Apache-2.0
package io.mooncake.base;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "65536, 65536",
        "12 B, 12",
        "3KiB, 3072",
        "512 MiB, 536870912",
        "8GiB, 8589934592",
        "' 2TiB ', 2199023255552",
        "9223372036854775807, 9223372036854775807",
        "8388607TiB, 9223370937343148032"
    })
    void parse_wellFormed_isBytes(String text, long bytes) {
        assertThat(ByteSize.parse("dram", text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "8GB", "8gib", "-1", "1.5GiB", "8 Gi B", "eight", "GiB", "0x10"})
    void parse_noSize_namesOptionValueAndForm(String text) {
        assertThatThrownBy(() -> ByteSize.parse("dram", text)).isInstanceOfSatisfying(MooncakeException.class, e -> {
            assertThat(e.code()).isEqualTo(MooncakeException.Code.INVALID_ARGUMENT);
            assertThat(e)
                    .hasMessage("dram: " + text
                            + " (expected: a whole number with B, KiB, MiB, GiB or TiB, for example 8GiB)");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"8388608TiB", "9223372036854775808", "9999999999999999999GiB"})
    void parse_over63Bits_isRefused(String text) {
        assertThatThrownBy(() -> ByteSize.parse("dram", text))
                .isInstanceOf(MooncakeException.class)
                .hasMessage("dram: " + text + " (expected: at most 8388607TiB)");
    }

    @Test
    void format_everyUnit_hasOneDecimal() {
        assertThat(ByteSize.format(0)).isEqualTo("0 B");
        assertThat(ByteSize.format(1023)).isEqualTo("1023 B");
        assertThat(ByteSize.format(1536)).isEqualTo("1.5 KiB");
        assertThat(ByteSize.format(8L << 30)).isEqualTo("8.0 GiB");
        assertThat(ByteSize.format(Long.MAX_VALUE)).isEqualTo("8388608.0 TiB");
    }
}
