// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.ignite.adapter.control.LinesTask.Answer;
import java.util.List;
import org.apache.ignite.IgniteException;
import org.junit.jupiter.api.Test;

class LinesTaskTest {
    private static final Answer GOOD = new Answer("Node a", null, List.of("3 blocks dropped"));
    private static final Answer BAD = new Answer("Node b", new IgniteException("left the cluster"), List.of());

    @Test
    void lines_oneNodeFailed_othersAreToldAllTheSame() {
        assertThat(LinesTask.lines(List.of(BAD, GOOD)))
                .containsExactly(
                        "Node b", "  failed: left the cluster", "Node a", "  3 blocks dropped", "1 of 2 nodes failed");
    }

    @Test
    void lines_everyNodeFailed_isAFailure() {
        assertThatThrownBy(() -> LinesTask.lines(List.of(BAD, BAD))).hasMessage("left the cluster");
        assertThat(LinesTask.lines(List.of())).isEmpty();
    }
}
