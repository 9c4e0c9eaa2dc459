// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

/** {@code --mooncake blocks}: blocks of each node. */
public final class MooncakeBlocksCommand extends LinesCommand<MooncakeBlocksCommandArg> {
    public MooncakeBlocksCommand() {
        super("Print the KV blocks that each node holds", MooncakeBlocksCommandArg.class, MooncakeBlocksTask.class);
    }
}
