// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

/** {@code --mooncake scrub}: every block in memory is compared with its checksums, and damaged ones are dropped. */
public final class MooncakeScrubCommand extends LinesCommand<MooncakeScrubCommandArg> {
    public MooncakeScrubCommand() {
        super(
                "Compare every KV block in each node's memory with its checksums, and drop damaged ones",
                MooncakeScrubCommandArg.class,
                MooncakeScrubTask.class);
    }
}
