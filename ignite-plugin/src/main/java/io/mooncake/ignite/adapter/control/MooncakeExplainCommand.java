// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

/** {@code --mooncake explain}: what each node would reuse for a prompt, from where, and why not more. */
public final class MooncakeExplainCommand extends LinesCommand<MooncakeExplainCommandArg> {
    public MooncakeExplainCommand() {
        super(
                "Print what each node would reuse for a prompt, from where, and why not more",
                MooncakeExplainCommandArg.class,
                MooncakeExplainTask.class);
    }
}
