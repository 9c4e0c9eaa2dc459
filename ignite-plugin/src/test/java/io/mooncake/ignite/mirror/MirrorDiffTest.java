// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MirrorDiffTest {
    private final MirrorDiff diff = new MirrorDiff();

    @Test
    void toWrite_confirmedAndUnchanged_isNotWrittenAgain() {
        write(Map.of("a", row(1), "b", row(2)));

        assertThat(diff.toWrite(Map.of("a", row(1), "b", row(3)))).containsOnlyKeys("b");
    }

    @Test
    void toRemove_unconfirmedWriteNoLongerWanted_isRemoved() {
        diff.writing(List.of("a"));

        assertThat(diff.toWrite(Map.of("a", row(1)))).containsOnlyKeys("a");
        assertThat(diff.toRemove(Map.of())).containsExactly("a");
    }

    @Test
    void distrust_afterLoss_writesAllAgain() {
        write(Map.of("a", row(1)));

        diff.distrust();

        assertThat(diff.toWrite(Map.of("a", row(1)))).containsOnlyKeys("a");
    }

    @Test
    void removed_confirmed_isForgotten() {
        write(Map.of("a", row(1)));

        diff.removed(List.of("a"));

        assertThat(diff.toRemove(Map.of())).isEmpty();
        assertThat(diff.rows()).isZero();
    }

    private void write(Map<String, PrefixRow> rows) {
        diff.writing(rows.keySet());
        diff.wrote(rows);
    }

    private static PrefixRow row(long hits) {
        return new PrefixRow("p", new BlockKey(1, 2, 3, 4), 64, 1, hits, 0, 1, 100);
    }
}
