// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.IgniteException;
import org.apache.ignite.compute.ComputeJobResult;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.visor.VisorMultiNodeTask;
import org.jspecify.annotations.Nullable;

/** A task whose jobs answer with lines of text, a node's after the other. What a node could not do is one of its lines. */
abstract class LinesTask<A extends IgniteDataTransferObject> extends VisorMultiNodeTask<A, List<String>, List<String>> {
    private static final long serialVersionUID = 0;

    @Override
    protected final List<String> reduce0(List<ComputeJobResult> results) {
        return lines(results.stream()
                .map(result -> new Answer(
                        "Node " + result.getNode().id() + " ("
                                + result.getNode().consistentId() + ")",
                        result.getException(),
                        result.getException() == null ? result.getData() : List.of()))
                .toList());
    }

    /** What one node said. */
    record Answer(String node, @Nullable IgniteException failure, List<String> lines) {}

    /**
     * The answers, a node's after the other.
     *
     * @throws IgniteException the first failure, where every node failed
     */
    static List<String> lines(List<Answer> answers) {
        List<String> lines = new ArrayList<>();
        IgniteException first = null;
        int failed = 0;
        for (Answer answer : answers) {
            lines.add(answer.node());
            answer.lines().forEach(line -> lines.add("  " + line));
            IgniteException failure = answer.failure();
            if (failure != null) {
                first = first == null ? failure : first;
                failed++;
                lines.add("  failed: " + failure.getMessage());
            }
        }
        if (first != null && failed == answers.size()) {
            throw first;
        }
        if (failed > 0) {
            lines.add(failed + " of " + answers.size() + " nodes failed");
        }
        return lines;
    }
}
