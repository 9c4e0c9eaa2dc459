// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import org.junit.jupiter.api.Test;

/** What holds on any machine, with a device or without; the rest is tested where there is one. */
class VerbsTest {
    @Test
    void devices_thisMachine_areThoseOfTheProbe() {
        assertThat(Verbs.devices())
                .isEqualTo(
                        Verbs.unavailable().isPresent()
                                ? java.util.List.of()
                                : NativeProbe.take().rdma().devices());
    }

    @Test
    void open_unknownDevice_throwsWithTheReason() {
        boolean usable = Verbs.unavailable().isEmpty();
        assertThatThrownBy(() -> Verbs.open("no-such-device"))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining(
                        usable ? "no-such-device" : Verbs.unavailable().orElseThrow());
    }

    @Test
    void unavailable_builtWithoutHeaders_probeSaysSoToo() {
        assumeTrue(
                Verbs.unavailable()
                        .filter(reason -> reason.contains("built without"))
                        .isPresent(),
                "SKIPPED: this build has the headers of verbs");
        assertThat(NativeProbe.take().rdma().usable()).isFalse();
    }

    @Test
    void of_codesOfTheDriver_areTheirNames() {
        assertThat(CompletionStatus.of(0)).isEqualTo(CompletionStatus.SUCCESS);
        assertThat(CompletionStatus.of(4)).isEqualTo(CompletionStatus.LOCAL_PROTECTION);
        assertThat(CompletionStatus.of(5)).isEqualTo(CompletionStatus.FLUSHED);
        assertThat(CompletionStatus.of(10)).isEqualTo(CompletionStatus.REMOTE_ACCESS);
        assertThat(CompletionStatus.of(12)).isEqualTo(CompletionStatus.RETRIES_EXCEEDED);
        assertThat(CompletionStatus.of(21)).isEqualTo(CompletionStatus.GENERAL);
        assertThat(CompletionStatus.of(999)).isEqualTo(CompletionStatus.GENERAL);
    }
}
