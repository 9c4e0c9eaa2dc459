// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.IgniteException;
import org.apache.ignite.compute.ComputeJobResult;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.visor.VisorMultiNodeTask;

/** A task whose jobs answer with lines of text, a node's after the other. What a node could not do is one of its lines. */
abstract class LinesTask<A extends IgniteDataTransferObject> extends VisorMultiNodeTask<A, List<String>, List<String>> {
    private static final long serialVersionUID = 0;

    @Override
    protected final List<String> reduce0(List<ComputeJobResult> results) {
        List<String> lines = new ArrayList<>();
        for (ComputeJobResult result : results) {
            lines.add("Node " + result.getNode().id() + " (" + result.getNode().consistentId() + ")");
            IgniteException failure = result.getException();
            if (failure != null) {
                throw failure;
            }
            List<String> data = result.getData();
            data.forEach(line -> lines.add("  " + line));
        }
        return lines;
    }
}
