// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.Collection;
import java.util.List;
import org.apache.ignite.internal.commandline.CommandsProvider;
import org.apache.ignite.internal.management.api.Command;

/** Tells the control script of {@code --mooncake}. */
public final class MooncakeCommandsProvider implements CommandsProvider {
    @Override
    public Collection<Command<?, ?>> commands() {
        return List.of(new MooncakeCommand());
    }
}
