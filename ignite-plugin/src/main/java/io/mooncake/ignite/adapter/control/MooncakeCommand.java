// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import org.apache.ignite.internal.management.api.CommandRegistryImpl;
import org.apache.ignite.internal.management.api.NoArg;

/** {@code --mooncake}: its subcommands are named after their classes. */
public final class MooncakeCommand extends CommandRegistryImpl<NoArg, Void> {
    public MooncakeCommand() {
        super(
                new MooncakeBlocksCommand(),
                new MooncakeExplainCommand(),
                new MooncakeDrainCommand(),
                new MooncakeWarmCommand(),
                new MooncakeQuotaCommand(),
                new MooncakeScrubCommand());
    }
}
