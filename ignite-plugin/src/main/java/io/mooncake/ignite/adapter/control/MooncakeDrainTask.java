// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.Mooncake;
import java.time.Duration;
import java.util.List;
import org.apache.ignite.internal.processors.task.GridInternal;

/** Drains the node that it runs on, or takes that back. */
@GridInternal
public final class MooncakeDrainTask extends LinesTask<MooncakeDrainCommandArg> {
    private static final long serialVersionUID = 0;

    @Override
    protected LinesJob<MooncakeDrainCommandArg> job(MooncakeDrainCommandArg arg) {
        return new DrainJob(arg, debug);
    }

    private static final class DrainJob extends LinesJob<MooncakeDrainCommandArg> {
        private static final long serialVersionUID = 0;

        DrainJob(MooncakeDrainCommandArg arg, boolean debug) {
            super(arg, debug);
        }

        @Override
        List<String> lines(Mooncake mooncake, MooncakeDrainCommandArg arg) {
            if (arg.resume()) {
                mooncake.resume();
                return List.of("takes requests and copies again");
            }
            DrainResult result = mooncake.drain(Duration.ofMillis(arg.timeoutMillis()));
            return List.of(result.moved() + " blocks of " + result.bytes() + " bytes moved, " + result.left()
                    + " left that only this node has, in " + result.took().toMillis() + " ms");
        }
    }
}
