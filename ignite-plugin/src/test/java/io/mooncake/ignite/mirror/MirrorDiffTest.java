// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import java.util.ArrayList;
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

    @Test
    void withinBudget_tooManyRows_keepsThoseReusedMost() {
        List<Map.Entry<String, PrefixRow>> rows = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            rows.add(Map.entry("k" + i, row(i % 7)));
        }

        assertThat(SqlMirror.withinBudget(rows, 3)).containsOnlyKeys("k4", "k5", "k6");
        assertThat(SqlMirror.withinBudget(rows, 20)).hasSize(10);
    }

    private void write(Map<String, PrefixRow> rows) {
        diff.writing(rows.keySet());
        diff.wrote(rows);
    }

    private static PrefixRow row(long hits) {
        return new PrefixRow("p", new BlockKey(1, 2, 3, 4), 64, 1, hits, 0, 1, 100);
    }
}
