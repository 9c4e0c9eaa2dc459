// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import org.apache.ignite.internal.client.GridClientNode;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.management.api.ComputeCommand;

/** A command that is run on nodes that hold a pool and prints the lines of their answers. */
abstract class LinesCommand<A extends IgniteDataTransferObject> implements ComputeCommand<A, List<String>> {
    private final String description;
    private final Class<A> argument;
    private final Class<? extends LinesTask<A>> task;

    LinesCommand(String description, Class<A> argument, Class<? extends LinesTask<A>> task) {
        this.description = description;
        this.argument = argument;
        this.task = task;
    }

    @Override
    public final String description() {
        return description;
    }

    @Override
    public final Class<A> argClass() {
        return argument;
    }

    @Override
    public final Class<? extends LinesTask<A>> taskClass() {
        return task;
    }

    @Override
    public Collection<GridClientNode> nodes(Collection<GridClientNode> nodes, A argument) {
        return PoolNodes.of(nodes);
    }

    @Override
    public final void printResult(A argument, List<String> lines, Consumer<String> printer) {
        lines.forEach(printer);
    }
}
