// SPDX-License-Identifier: Apache-2.0
package io.mooncake.base;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException.Code;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class MooncakeExceptionTest {
    @Test
    void invalid_anyValue_namesPlaceValueAndExpectation() {
        MooncakeException e = MooncakeException.invalid("blockTokens", 0, "1..4096");
        assertThat(e).hasMessage("blockTokens: 0 (expected: 1..4096)");
        assertThat(e.code()).isEqualTo(Code.INVALID_ARGUMENT);
        assertThat(e.retryable()).isFalse();
    }

    @Test
    void retryable_everyCode_isTheTransientOnes() {
        assertThat(Arrays.stream(Code.values()).filter(Code::retryable))
                .containsExactlyInAnyOrder(
                        Code.EXHAUSTED, Code.DEADLINE_EXCEEDED, Code.PEER_UNREACHABLE, Code.STALE, Code.CORRUPT);
    }

    @Test
    void constructor_cause_isKept() {
        Throwable cause = new IllegalStateException("below");
        assertThat(new MooncakeException(Code.INTERNAL, "above", cause))
                .hasCause(cause)
                .hasMessage("above");
    }
}
